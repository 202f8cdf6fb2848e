import { session } from './api.ts'
import { button, counted, h } from './dom.ts'

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
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60]
  element.textContent = hours > 48 ? '' : `, expires in ${hours > 0 ? `${hours} h ` : ''}${rest} min`
  if (announced || minutes * 60_000 > EXPIRY_MS) return
  const notice: HTMLElement = h(
    'div.notice.warning',
    {},
    `Your key expires in ${counted(minutes, 'minute')}. To get a new one:`,
    h('br'),
    h('code', {}, session.command()),
    h('br'),
    button('Dismiss', () => notice.remove()),
  )
  announced = { apiKeyId: self.apiKeyId, notice }
  document.getElementById('notices')?.append(notice)
}
