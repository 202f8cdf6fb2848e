import { once } from 'node:events'
import type { ListenOptions, Server } from 'node:net'

/** Connections that the system queues for acceptance. Past that it drops some, which retry after seconds. */
const BACKLOG = 4_096

/**
 * Resolves with the port, a free one for 0; with 0 for a unix socket. `host` may be its path, or the descriptor of a
 * socket.
 */
export const listen = async (server: Server, host: string | number, port: number): Promise<number> => {
  const start = async (place: ListenOptions & { readonly fd?: number }) => {
    server.listen({ ...place, backlog: BACKLOG })
    await once(server, 'listening')
  }
  const onPort = (host: string) => start({ host, port })
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
