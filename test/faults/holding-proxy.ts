import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/**
 * A TCP proxy before the socket of PostgreSQL. From `hold` to `letGo` it keeps what clients send, even if they hang up
 * meanwhile: the statements of a process that stands still arrive late.
 */
export const startHoldingProxy = async (t: Test, socketPath: string) => {
  /** What was not forwarded yet; null while everything is forwarded at once. */
  let heldBack: (() => void)[] | null = null
  const forward = (action: () => void): void => {
    if (heldBack === null) action()
    else heldBack.push(action)
  }

  const sockets: Socket[] = []
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(socketPath)
    sockets.push(client, upstream)
    client.on('data', (bytes) => forward(() => upstream.write(bytes)))
    client.on('end', () => forward(() => upstream.end()))
    client.on('close', () => forward(() => upstream.end()))
    client.on('error', () => {})
    upstream.on('data', (bytes) => client.writable && client.write(bytes))
    upstream.on('close', () => client.destroy())
    upstream.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  })

  return {
    port: (proxy.address() as AddressInfo).port,
    hold: (): void => {
      heldBack ??= []
    },
    /** Forwards what was held back, and returns how many writes and ends of connections that were. */
    letGo: (): number => {
      const actions = heldBack ?? []
      heldBack = null
      for (const action of actions) action()
      return actions.length
    },
  }
}
