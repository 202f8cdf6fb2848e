import { bdi, h, refill } from './dom.ts'
import { isFormType } from './forms.ts'
import { knownSources } from './known-sources.ts'

/** The type of an activity whose sender named none. */
const UNNAMED = 'webhook'
/** Sources that were read so lately are not read again. */
const AGE_MS_MAX = 60_000

/** A type in words. One that the sender did not name says nothing to a reader. */
export const kindOf = (type: string, isForm = false): string => {
  if (isFormType(type) || (isForm && type === UNNAMED)) return 'form'
  return type === UNNAMED ? 'delivery' : type
}

type Named = { readonly source: string; readonly type: string }

/** The type of an activity, unless its sender named none and it came from a form. */
export const typeOrForm = async ({ source, type }: Named): Promise<string> => {
  if (type !== UNNAMED) return type
  return (await knownSources(AGE_MS_MAX)).get(source)?.isForm ? 'form' : type
}

/** The kind of an activity. `write` is called again if its source turns out to be a form. */
const withKind = ({ source, type }: Named, write: (kind: string) => void): void => {
  write(kindOf(type))
  if (type !== UNNAMED) return
  void knownSources(AGE_MS_MAX).then((known) => known.get(source)?.isForm && write('form'))
}

/** What kind of activity it is, as a mark. */
export const kindTag = (log: Named) => {
  const mark = h('bdi.tag', { title: log.type })
  withKind(log, (kind) => {
    mark.textContent = kind
  })
  return mark
}

/** What an activity is, by its kind and its source: `Form contact`, `Catalogue form`, or `invoice.paid from stripe`. */
export const kindAndSource = (log: Named) => {
  const place = h('span', { title: log.type })
  withKind(log, (kind) => {
    const isForm = kind === 'form'
    const isNamedForm = isForm && /\bform\b/i.test(log.source)
    refill(
      place,
      !isNamedForm && h('b', isForm ? 'Form' : bdi(kind)),
      !isNamedForm && h('span.muted', isForm ? ' ' : ' from '),
      h(isForm ? 'b' : 'span', bdi(log.source)),
    )
  })
  return place
}
