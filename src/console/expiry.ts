import { session } from './api.ts'
import { h } from './dom.ts'

const EXPIRY_MS = 10 * 60_000
let announcedFor = ''
/** Announces the end of the key ten minutes before. */
export const watchExpiry = (): void => {
  const { self } = session
  const element = document.getElementById('expires')
  if (!self?.expiresAt || element === null) return
  const minutes = Math.max(Math.ceil((Date.parse(self.expiresAt) - Date.now()) / 60_000), 0)
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60]
  element.textContent = hours > 48 ? '' : `, expires in ${hours > 0 ? `${hours} h ` : ''}${rest} min`
  if (announcedFor === self.apiKeyId || minutes * 60_000 > EXPIRY_MS) return
  announcedFor = self.apiKeyId
  document
    .getElementById('notices')
    ?.append(
      h(
        'p.notice.warning',
        {},
        `Your key expires in ${minutes} minutes. To get a new one:`,
        h('br'),
        h('code', {}, session.command()),
      ),
    )
}
