/** A program that receives events in the form of its API, without a program in between. */
export type Receiver = {
  readonly name: string
  /** What it does with an activity, as a choice. */
  readonly text: string
  /** The address of its API; null if the receiver shows each user another one. */
  readonly url: string | null
  /** The token to paste, and the header that carries it. */
  readonly token: { readonly label: string; readonly header: string; readonly prefix: string } | null
  /** Where to find the address or the token. */
  readonly hint: string
  /** Whether it may verify signatures, for which it needs the secret. */
  readonly verifiesSignatures: boolean
  readonly body: string
}
export type ReceiverName = 'hubspot' | 'brevo' | 'slack' | 'json'

const EMAIL = '{{/data/prospect/email}}'
const NAME = '{{/data/prospect/name?}}'
const FIRST_NAME = '{{/data/prospect/firstName?}}'
const LAST_NAME = '{{/data/prospect/lastName?}}'

/** Each is checked against its vendor's documentation, and tested by test/e2e/receivers.full.ts. */
export const RECEIVERS: Readonly<Record<ReceiverName, Receiver>> = {
  // https://developers.hubspot.com/docs/api-reference/legacy/crm/objects/contacts/batch/upsert-contacts
  hubspot: {
    name: 'HubSpot',
    text: 'HubSpot: a contact',
    url: 'https://api.hubapi.com/crm/v3/objects/contacts/batch/upsert',
    token: { label: 'Access token', header: 'authorization', prefix: 'Bearer ' },
    hint: 'In HubSpot, create a private app with the scopes crm.objects.contacts.read and crm.objects.contacts.write, and copy its access token.',
    verifiesSignatures: false,
    body: `{
  "inputs": [
    {
      "idProperty": "email",
      "id": "${EMAIL}",
      "properties": {
        "email": "${EMAIL}",
        "firstname": "${FIRST_NAME}",
        "lastname": "${LAST_NAME}",
        "company": "{{/data/prospect/attributes/company?}}",
        "phone": "{{/data/prospect/attributes/phone?}}"
      }
    }
  ]
}`,
  },
  // https://developers.brevo.com/reference/create-contact
  brevo: {
    name: 'Brevo',
    text: 'Brevo: a contact',
    url: 'https://api.brevo.com/v3/contacts',
    token: { label: 'API key', header: 'api-key', prefix: '' },
    hint: 'In Brevo, open Settings, SMTP & API, API keys, and create one.',
    verifiesSignatures: false,
    body: `{
  "email": "${EMAIL}",
  "attributes": { "FIRSTNAME": "${FIRST_NAME}", "LASTNAME": "${LAST_NAME}" },
  "updateEnabled": true
}`,
  },
  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks. As plain text, a visitor's input cannot mention anyone.
  slack: {
    name: 'Slack',
    text: 'Slack: a message in a channel',
    url: null,
    token: null,
    hint: 'In Slack, create an app, activate Incoming Webhooks, add one to a channel, and copy its webhook URL.',
    verifiesSignatures: false,
    body: `{
  "text": "A new activity",
  "blocks": [
    {
      "type": "section",
      "text": {
        "type": "plain_text",
        "emoji": false,
        "text": "{{/data/source}} · {{/data/type}}\\n{{/data/prospect/name}} {{/data/prospect/email}}"
      }
    }
  ]
}`,
  },
  json: {
    name: 'Zapier, n8n or Make',
    text: 'Zapier, n8n, Make, others',
    url: null,
    token: null,
    hint: 'Paste the address that it shows for a webhook or “catch hook”.',
    verifiesSignatures: true,
    body: `{
  "email": "${EMAIL}",
  "name": "${NAME}",
  "source": "{{/data/source}}",
  "type": "{{/data/type}}",
  "occurredAt": "{{/data/occurredAt}}",
  "attributes": "{{/data/prospect/attributes}}",
  "payload": "{{/data/payload}}"
}`,
  },
}

export const isReceiverName = (text: string): text is ReceiverName => Object.hasOwn(RECEIVERS, text)
