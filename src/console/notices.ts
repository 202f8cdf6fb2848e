import { can, Problem, session } from './api.ts'
import { type Attributes, actions, addressOf, button, type Child, card, counted, h } from './dom.ts'

/** The place of notices: within the open dialog, if there is one, because nothing beside it can be reached. */
const notices = (): HTMLElement => {
  const place = document.getElementById('notices') as HTMLElement
  const parent = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
  if (place.parentElement !== parent) parent.append(place)
  return place
}
/** Removes earlier errors, which are no longer news. */
export const clearErrors = (): void => {
  for (const notice of notices().querySelectorAll('.bad')) notice.remove()
}

/** Shows a message for a few seconds. */
export const notify = (text: string): void => {
  const notice = h('p.notice', text)
  clearErrors()
  notices().append(notice)
  setTimeout(() => notice.remove(), 5_000)
}
/** An error with all the details that support would ask for. */
export const errorOf = (error: unknown): Child => {
  if (!(error instanceof Problem)) return h('span', (error as Error).message)
  const { message, code, requestId, errors, prospectId } = error
  const fieldOf = (pointer = '') => /[a-z]\w*(?=(\/\d+)?$)/i.exec(pointer)?.[0]
  const details = errors.map(({ detail, pointer, parameter }) =>
    h('li', h('b', fieldOf(pointer) ?? parameter), ` ${detail}`),
  )
  return [
    details.length > 0 ? h('ul', details) : h('span', message),
    prospectId && [' ', h('a', { href: addressOf(['people', prospectId]) }, 'Open that person')],
    h(
      'small',
      `${code}, request ${requestId} `,
      button('Copy', () => copy(`${code} ${requestId}: ${message}`), { class: 'link' }),
    ),
  ]
}
/** An error that stays until it is dismissed. The same one is shown once. */
export const showError = (error: unknown): void => {
  if ((error as Error)?.name === 'AbortError') return
  const id = error instanceof Problem ? `${error.code} ${error.message}` : String((error as Error)?.message)
  for (const shown of notices().children) if ((shown as HTMLElement).dataset['id'] === id) return
  const notice: HTMLElement = h(
    'div.notice.bad',
    { role: 'alert', 'data-id': id },
    errorOf(error),
    button('Dismiss', () => notice.remove()),
  )
  notices().append(notice)
}
export const lack = (scope: string) =>
  `Your key lacks the scope ${scope}. This opens a console that has it: ${session.command()}`
/** The content of a view whose scope the key lacks. */
export const lacking = (title: string, scope: string): Child => [
  h('header', h('h1', title)),
  card(h('p.muted', lack(scope))),
]

/** A button for an action that needs a scope: grayed out without it, with the reason. */
export const gated = (scope: string, text: string, onclick: () => unknown, attributes: Attributes = {}) => {
  if (can(scope)) return button(text, onclick, attributes)
  const why = lack(scope)
  return button(text, () => notify(why), { ...attributes, 'aria-disabled': 'true', title: why })
}

export const copy = async (text: string) => {
  if (navigator.clipboard) await navigator.clipboard.writeText(text)
  else {
    // Pages that come over plain HTTP from another machine have no clipboard.
    const area = h('textarea', { value: text, 'aria-hidden': 'true' })
    const place = document.querySelector('dialog[open]') ?? document.body
    place.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
  notify('Copied.')
}
/** An id, short; the whole of it is copied. */
export const idOf = (id: string) => {
  const short = id.length > 24 ? `${id.slice(0, id.indexOf('_') + 5)}…${id.slice(-5)}` : id
  return button(short, () => copy(id), { class: 'id', title: id, 'aria-label': `Copy ${id}` })
}
/** A text to take elsewhere, such as a command or a secret. */
export const toCopy = (name: string, text: string, shown = text) =>
  h(
    'div.copy',
    h('pre', { tabindex: 0, role: 'group', 'aria-label': name }, shown),
    button('Copy', () => copy(text)),
  )

/** A longer text is not shown completely at first. */
const SHOWN_MAX = 100_000
const LEVELS_MAX = 20
const TOKENS = /"(?:[^"\\]+|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+/g
/** JSON with line breaks: every other character stays as sent, even 12345678901234567890. */
export const pretty = (json: string): string => {
  if (json.length > 2 * SHOWN_MAX) return json
  let level = 0
  const line = () => `\n${'  '.repeat(Math.min(level, LEVELS_MAX))}`
  return json.replace(TOKENS, (token) => {
    if (token.startsWith('"')) return token
    if (token === ':') return ': '
    if (token === ',') return token + line()
    if (token === '{' || token === '[') {
      level++
      return token + line()
    }
    if (token === '}' || token === ']') {
      level--
      return line() + token
    }
    return token.replace(/\s/g, '')
  })
}
export const code = (text: string, name: string) => {
  const pre = h('pre', { tabindex: 0, role: 'group', 'aria-label': name }, text.slice(0, SHOWN_MAX))
  if (text.length <= SHOWN_MAX) return pre
  const more = button(`Show all ${text.length.toLocaleString('en')} characters`, () => {
    pre.textContent = text
    more.remove()
  })
  return [pre, more]
}
/** JSON to read, and to copy exactly as it came. */
export const json = (name: string, text: string, ...more: readonly Child[]) => [
  code(pretty(text), name),
  actions(
    button(`Copy ${name.toLowerCase()}`, () => copy(text)),
    ...more,
  ),
]

const EXPIRY_MS = 10 * 60_000
/** The notice about a key, until it is dismissed or another key is used. */
let announced: { readonly apiKeyId: string; readonly notice: HTMLElement } | undefined
/** Announces the end of the key ten minutes before. */
export const watchExpiry = (): void => {
  const { self } = session
  if (announced && announced.apiKeyId !== self?.apiKeyId) {
    announced.notice.remove()
    announced = undefined
  }
  const element = document.getElementById('expires')
  if (!self?.expiresAt || element === null) return
  const minutes = Math.max(Math.ceil((Date.parse(self.expiresAt) - Date.now()) / 60_000), 0)
  const hours = Math.floor(minutes / 60)
  const rest = minutes % 60
  element.textContent = hours > 48 ? '' : `, expires in ${hours > 0 ? `${hours} h ` : ''}${rest} min`
  if (announced || minutes * 60_000 > EXPIRY_MS) return
  const notice: HTMLElement = h(
    'div.notice.warning',
    `Your key expires in ${counted(minutes, 'minute')}. To get a new one:`,
    h('br'),
    h('code', session.command()),
    h('br'),
    button('Dismiss', () => notice.remove()),
  )
  announced = { apiKeyId: self.apiKeyId, notice }
  document.getElementById('notices')?.append(notice)
}
