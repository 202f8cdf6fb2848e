import type { Prospect } from '../shapes/prospect.ts'
import { field } from './dialog.ts'
import { bdi, facts, h } from './dom.ts'

/** More would make the dialog long. Those who need more open it again. */
const NEW_ROWS = 3

const valuesOf = ({ attributes }: Pick<Prospect, 'attributes'>) =>
  Object.entries(attributes).map(([name, value]) => [name, String(value)] as const)

/** The attributes of a person, by their names. */
export const attributeFacts = (person: Pick<Prospect, 'attributes'>) =>
  facts(Object.fromEntries(valuesOf(person).map(([name, text]) => [name, bdi(text)])))

type Values = Readonly<Record<string, string>>

/** Fields for the labels and values of a person's attributes. `changesIn` returns only those that were changed. */
export const attributeFields = (before: Pick<Prospect, 'attributes'>) => {
  const rows = [...valuesOf(before), ...Array.from({ length: NEW_ROWS }, () => ['', ''] as const)]
  const rowOf = ([name, text]: readonly [string, string], i: number) =>
    h(
      'fieldset.named',
      field('Field', `label${i}`, { value: name, maxlength: 64 }),
      field('Value', `value${i}`, { value: text, maxlength: 1_000 }),
    )
  const changesIn = (values: Values): Readonly<Record<string, unknown>> => {
    const removed = new Map<string, null>()
    const written = new Map<string, unknown>()
    for (const [i, [name, text]] of rows.entries()) {
      const label = values[`label${i}`]?.trim() ?? ''
      const value = values[`value${i}`] ?? ''
      if (name !== '' && label !== name) removed.set(name, null)
      // An untouched number stays a number under its new label.
      const typed = value === text && name !== '' ? before.attributes[name as never] : value
      if (label !== '' && (label !== name || value !== text)) written.set(label, typed)
    }
    return Object.fromEntries([...removed, ...written])
  }
  const element = h(
    'div.fields',
    h(
      'p.muted',
      'Further fields, such as company, phone or city. Empty a value, or its label, to remove it.',
    ),
    rows.map(rowOf),
  )
  return { element, changesIn }
}
