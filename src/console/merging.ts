import type { Prospect } from '../shapes/prospect.ts'
import { forgetPeople } from './activity-table.ts'
import { call, get, path, type Slice } from './api.ts'
import { ask } from './dialog.ts'
import { h } from './dom.ts'
import { field } from './fields.ts'
import { addressOf } from './place.ts'

/** Merges a person into another one, after a confirmation. */
export const merge = ({ prospectId, email, name }: Prospect): void => {
  const word = email ?? prospectId
  ask({
    title: `Merge ${name ?? email ?? 'this person'} into another person`,
    action: 'Merge for good',
    isDanger: true,
    body: [
      h(
        'p',
        {},
        'The other person remains, and gets all activities of this one, and the email, the external id and the name where they are missing. This cannot be undone.',
      ),
      field('Email, external id or id of the other person', 'other', { required: true }),
      field(`To confirm, type ${word}`, 'word', { required: true }),
    ],
    run: async ({ other = '', ...values }) => {
      if (values['word'] !== word) throw new Error(`Type ${word} to confirm.`)
      const into = await idOfPerson(other.trim())
      await call('POST', path`/prospects/${prospectId}/merge`, { body: { into } })
      forgetPeople()
      location.hash = addressOf(['people', into])
    },
  })
}

const idOfPerson = async (named: string): Promise<string> => {
  if (/^prospect_[a-z0-9]{26}$/.test(named)) return named
  for (const by of [{ email: named }, ...(named.length > 255 ? [] : [{ externalId: named }])]) {
    const [found] = (await get<Slice<Prospect>>('/prospects', by)).items
    if (found) return found.prospectId
  }
  throw new Error('Nobody has this email or external id.')
}
