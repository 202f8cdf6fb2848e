import { can, Problem, session } from './api.ts'
import { type Attributes, addressOf, button, type Child, card, counted, h } from './dom.ts'

/** The element of the notices. It is moved into the open dialog, because a reader cannot reach anything outside. */
const noticesNow = (): HTMLElement => {
  const notices = document.getElementById('notices') as HTMLElement
  const parent = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
  if (notices.parentElement !== parent) parent.append(notices)
  return notices
}

/**
 * Opens a dialog. When it closes, the browser returns the focus. If the focused control was replaced in the meantime, the
 * button with the same text gets the focus.
 */
export const openDialog = (dialog: HTMLDialogElement): void => {
  const focused = document.activeElement as HTMLElement | null
  dialog.addEventListener('close', () => {
    document.body.append(document.getElementById('notices') as HTMLElement)
    dialog.remove()
    if (focused?.isConnected) return
    const main = document.getElementById('main')
    const buttons = [...(main?.querySelectorAll('button') ?? [])]
    const replacement = buttons.find(({ textContent }) => textContent === focused?.textContent)
    ;(replacement ?? main)?.focus({ preventScroll: true })
  })
  document.body.append(dialog)
  dialog.showModal()
}

export const clearErrors = (): void => {
  for (const notice of noticesNow().querySelectorAll('.bad')) notice.remove()
}

const NOTICE_MS = 5_000
/** Shows a message for a few seconds. */
export const notify = (text: string): void => {
  const notice = h('p.notice', text)
  clearErrors()
  noticesNow().append(notice)
  setTimeout(() => notice.remove(), NOTICE_MS)
}

/** The name of the field that a JSON pointer leads to, such as `sources` for `/sources/0`. */
const fieldOf = (pointer = ''): string | undefined => /[a-z]\w*(?=(\/\d+)?$)/i.exec(pointer)?.[0]

/** Reasons that name settings of the server, which only its operator can change. */
const NAMES_SETTINGS = /WEBHOOKS_ALLOWED_|allowedHosts/
const REFUSED_ADDRESS =
  'This server sends only to public https:// addresses. Check the address. If it is right, the operator of this server can allow it.'

/** Why nothing can be sent to an address, as far as the reader can do something about it. */
export const plainReason = (reason: string): string =>
  NAMES_SETTINGS.test(reason) ? REFUSED_ADDRESS : reason

/** What the operator has to know about a reason, on demand. */
export const forOperator = (reason: string): Child =>
  NAMES_SETTINGS.test(reason) && h('details', h('summary', 'For the operator'), h('span.muted', reason))

/** The reason for the reader and for the operator. */
export const reasonShown = (reason: string): Child => [h('bdi', plainReason(reason)), forOperator(reason)]

/** An error with all the details that support would ask for. */
export const errorOf = (error: unknown): Child => {
  if (!(error instanceof Problem)) return h('span', (error as Error).message)
  const { message, code, requestId, errors, prospectId } = error
  const details = errors.map(({ detail, pointer, parameter }) =>
    h('li', h('b', fieldOf(pointer) ?? parameter), ' ', reasonShown(detail)),
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

/** Shows an error until it is dismissed. The same error is shown only once. */
export const showError = (error: unknown): void => {
  if ((error as Error)?.name === 'AbortError') return
  const id = error instanceof Problem ? `${error.code} ${error.message}` : String((error as Error)?.message)
  const shown = [...noticesNow().children] as HTMLElement[]
  if (shown.some(({ dataset }) => dataset['id'] === id)) return
  const notice: HTMLElement = h(
    'div.notice.bad',
    { role: 'alert', 'data-id': id },
    errorOf(error),
    button('Dismiss', () => notice.remove()),
  )
  noticesNow().append(notice)
}

export const lack = (scope: string) =>
  `Your key lacks the scope ${scope}. This opens a console that has it: ${session.command()}`

/** The content of a view whose scope the key lacks. */
export const lacking = (title: string, scope: string): Child => [
  h('header', h('h1', title)),
  card(h('p.muted', lack(scope))),
]

/** A button for an action that needs a scope. Without the scope it is grayed out, and says why. */
export const gated = (scope: string, text: string, onclick: () => unknown, attributes: Attributes = {}) => {
  if (can(scope)) return button(text, onclick, attributes)
  const why = lack(scope)
  return button(text, () => notify(why), { ...attributes, 'aria-disabled': 'true', title: why })
}

export const copy = async (text: string) => {
  if (navigator.clipboard) await navigator.clipboard.writeText(text)
  else {
    // Browsers offer no clipboard to pages loaded over plain HTTP from another machine.
    const area = h('textarea', { value: text, 'aria-hidden': 'true' })
    const place = document.querySelector('dialog[open]') ?? document.body
    place.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
  notify('Copied.')
}

/** A button that shows an id shortened, and copies the whole id. */
export const idOf = (id: string) => {
  const short = id.length > 24 ? `${id.slice(0, id.indexOf('_') + 5)}…${id.slice(-5)}` : id
  return button(short, () => copy(id), { class: 'id', title: id, 'aria-label': `Copy ${id}` })
}

/** A text with a button that copies it, such as a command or a secret. */
export const toCopy = (name: string, text: string, shown = text) =>
  h(
    'div.copy',
    h('pre', { tabindex: 0, role: 'group', 'aria-label': name }, shown),
    button('Copy', () => copy(text)),
  )

/** Of a longer text, only this many characters are shown at first. */
const SHOWN_MAX = 100_000
/** Deeper levels are not indented further. */
const LEVELS_MAX = 20
/** Texts, empty objects and arrays, punctuation, and blanks. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+/g

/** JSON with line breaks. All other characters stay unchanged, even those of 12345678901234567890. */
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

/** A text in a fixed-width font. The rest of a long text is shown on demand. */
export const code = (text: string, name: string) => {
  const pre = h('pre', { tabindex: 0, role: 'group', 'aria-label': name }, text.slice(0, SHOWN_MAX))
  if (text.length <= SHOWN_MAX) return pre
  const more = button(`Show all ${text.length.toLocaleString('en')} characters`, () => {
    pre.textContent = text
    more.remove()
  })
  return [pre, more]
}

/** The expiry of the key is announced this long before. */
const ANNOUNCED_MINUTES = 10
/** The menu counts down the last hours. */
const COUNTED_HOURS = 48
/** The notice about the key, until another key is used. A dismissed notice does not come back. */
let announced: { readonly apiKeyId: string; readonly notice: HTMLElement } | undefined

/** Shows when the key expires. */
export const watchExpiry = (): void => {
  const { self } = session
  if (announced && announced.apiKeyId !== self?.apiKeyId) {
    announced.notice.remove()
    announced = undefined
  }
  const element = document.getElementById('expires')
  if (!self?.expiresAt || element === null) return
  const minutes = Math.max(Math.ceil((Date.parse(self.expiresAt) - Date.now()) / 60_000), 0)
  element.textContent = countdown(minutes)
  if (announced || minutes > ANNOUNCED_MINUTES) return
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

const countdown = (minutes: number): string => {
  const hours = Math.floor(minutes / 60)
  if (hours > COUNTED_HOURS) return ''
  const rest = `${minutes % 60} min`
  return hours > 0 ? `, expires in ${hours} h ${rest}` : `, expires in ${rest}`
}
