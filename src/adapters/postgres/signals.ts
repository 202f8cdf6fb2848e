import type { Signal } from '../../core/ports.ts'
import { type Ask, endPool, openPostgres, type Sql } from './connect.ts'
import { inTime } from './in-time.ts'

const TELL_PAUSE_MS = 200
const ASSUME_EVERY_MS = 500
const LISTEN_AGAIN_MS = 500
const LISTEN_MS_MAX = 5_000

/**
 * What processes on one database tell each other, by LISTEN and NOTIFY. Whoever cannot listen just now, or has no
 * address at which that is possible, assumes every half second that something was said.
 */
export const postgresSignals = (url: string | null, ask: Ask) => {
  let listening: Sql | undefined
  let tellHere: (signal: Signal) => void = () => {}
  let again: NodeJS.Timeout | undefined
  let assuming: NodeJS.Timeout | undefined
  let pause: NodeJS.Timeout | undefined
  let closed = false

  const tell = async (signal: Signal): Promise<void> => {
    await ask((sql) => sql`select pg_notify('prospect_pages', ${signal})`)
  }

  const watch = (told: (signal: Signal) => void): void => {
    tellHere = told
    const assumeAll = () => {
      told('keys')
      told('versions')
    }
    const listen = (address: string) => {
      const sql = openPostgres(address, {
        max: 1,
        idle_timeout: 0,
        max_lifetime: null,
        onnotify: (_channel, signal) => told(signal as Signal),
        onclose: () => listenAgain(sql, address),
      })
      listening = sql
      const listened = () => {
        if (sql !== listening) return
        clearInterval(assuming)
        assuming = undefined
        assumeAll()
      }
      inTime(sql`listen prospect_pages`, LISTEN_MS_MAX).then(listened, () => listenAgain(sql, address))
    }
    const listenAgain = (lost: Sql, address: string) => {
      if (closed || lost !== listening) return
      listening = undefined
      void endPool(lost, 0)
      assumeAll()
      assume()
      again = setTimeout(listen, LISTEN_AGAIN_MS, address)
    }
    const assume = () => {
      assuming ??= setInterval(assumeAll, ASSUME_EVERY_MS)
    }
    if (url === null) assume()
    else listen(url)
  }

  return {
    watch,
    /**
     * Tells this process at once, and others soon, once for all that happens meanwhile: commits that notify wait for
     * each other in the whole database.
     */
    tellSoon: (signal: Signal): void => {
      tellHere(signal)
      pause ??= setTimeout(() => {
        pause = undefined
        tell(signal).catch(() => {})
      }, TELL_PAUSE_MS)
    },
    close: async (): Promise<void> => {
      closed = true
      clearTimeout(again)
      clearInterval(assuming)
      clearTimeout(pause)
      if (listening !== undefined) await endPool(listening, 1)
    },
  }
}
