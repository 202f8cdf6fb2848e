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
  // A unix socket is open, like a port, to every user who may enter its folder.
  else if (host.startsWith('/')) await start({ path: host, readableAll: true, writableAll: true })
  else {
    await onPort(host).catch((error) => {
      // The machine has no IPv6.
      if (host === '::' && /^(EAFNOSUPPORT|EADDRNOTAVAIL)$/.test(error.code)) return onPort('0.0.0.0')
      throw error
    })
  }
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
