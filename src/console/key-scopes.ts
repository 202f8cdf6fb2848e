import { session } from './api.ts'
import { tick } from './dialog.ts'
import { actions, button, h, refill } from './dom.ts'
import { openDialog, toCopy } from './notices.ts'

/** What each scope allows, in words. */
const SCOPE_WORDS: Readonly<Record<string, string>> = {
  'prospects:read': 'See people',
  'prospects:write': 'Create, edit and merge people',
  'prospects:erase': 'Erase people',
  'prospect_logs:read': 'See activities',
  'prospect_logs:write': 'Send activities',
  'page_groups:read': 'See page groups',
  'page_groups:write': 'Create and change page groups',
  'pages:read': 'See pages, drafts included',
  'pages:write': 'Create, change and publish pages',
  'pages:published': 'See only what is published, such as a website. Not with “See pages”',
  'events:read': 'Follow events, which contain people, activities and pages',
  'webhooks:write': 'Send to a CRM or to webhooks',
  'hooks:write': 'Connect forms and other sources',
  'attributes:overwrite': 'Fields of a person that it sends replace those that are there',
}

/** Shows what the key may do, and the command that makes another one: keys are made on the server only. */
export const showKey = (): void => {
  const { self } = session
  const scopes = new Set(self?.scopes)
  const command = h('div')
  const show = (): void => {
    const chosen = Object.keys(SCOPE_WORDS).filter((scope) => scopes.has(scope))
    const options = chosen.map((scope) => ` \\\n  --scope ${scope}`).join('')
    const text = `prospect-pages keys create --tenant ${self?.tenantId} --name new${options}`
    refill(
      command,
      chosen.length > 0 ? toCopy('A command that makes a key', text) : h('p.muted', 'Tick something.'),
    )
  }
  const tickOf = ([scope, words]: readonly [string, string]) => {
    const onchange = ({ target }: Event): void => {
      if ((target as HTMLInputElement).checked) scopes.add(scope)
      else scopes.delete(scope)
      show()
    }
    return tick('scopes', h('span', words, h('small', scope)), { checked: scopes.has(scope), onchange })
  }
  show()
  const dialog: HTMLDialogElement = h(
    'dialog',
    { 'aria-label': 'What this key may do' },
    h(
      'div.fields',
      h('h2', 'What this key may do'),
      h('fieldset', Object.entries(SCOPE_WORDS).map(tickOf)),
      h(
        'p.muted',
        'A key cannot be changed. For another one, tick what it may do, and give this command to the operator of the server:',
      ),
      command,
    ),
    actions(button('Close', () => dialog.close())),
  )
  openDialog(dialog)
}
