import { once } from 'node:events'
import type { ListenOptions, Server } from 'node:net'

/** Connections that the system queues for acceptance. Past that it drops some, which retry after seconds. */
const BACKLOG = 4_096

/**
 * Each process accepts connections directly. Systems without `reusePort` share the handle of `node:cluster`, not its
 * round robin, which leaves a connection hanging that is on its way to a process that dies.
 */
const SHARED = process.platform === 'linux' ? { reusePort: true, exclusive: true } : {}

/**
 * Resolves with the port, a free one for 0; with 0 for a unix socket. `host` may be its path, or the descriptor of a
 * socket. Other processes may listen on a shared port at the same time, and the system spreads the connections.
 */
export const listen = async (
  server: Server,
  host: string | number,
  port: number,
  isShared: boolean,
): Promise<number> => {
  const start = async (place: ListenOptions & { readonly fd?: number }) => {
    server.listen({ ...place, backlog: BACKLOG })
    await once(server, 'listening')
  }
  const onPort = (host: string) => start({ host, port, ...(isShared && SHARED) })
  if (typeof host === 'number') await start({ fd: host })
  // Like a port of this machine, for every user who may enter the folder.
  else if (host.startsWith('/')) await start({ path: host, readableAll: true, writableAll: true })
  else
    await onPort(host).catch((error) => {
      // A machine without IPv6.
      if (host !== '::' || !/^(EAFNOSUPPORT|EADDRNOTAVAIL)$/.test(error.code)) throw error
      return onPort('0.0.0.0')
    })
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
