import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { checkServerIdentity, connect as connectSecurely } from 'node:tls'
import type { PostgresAddress, PostgresServer } from '../../config/postgres-address.ts'

type Refuse = (server: PostgresServer) => Promise<void>

/** The index of the server that was accepted last, by list. It is tried first, so that no server that is away is waited for. */
const lastAccepted = new Map<string, number>()

/**
 * Connects to the first server that answers and that `refuse` accepts, with TLS as the address says. The driver
 * would split an IPv6 address, check the certificate of an IP address against `localhost`, and try a list for ever. If
 * no server is right, the result fails at the first write, so that the driver closes it properly.
 */
export const dial = async (address: PostgresAddress, refuse: Refuse): Promise<Duplex> => {
  const { servers } = address
  const list = servers.map(nameOf).join()
  const errors: NodeJS.ErrnoException[] = []
  const first = lastAccepted.get(list) ?? 0
  for (const server of [...servers.slice(first), ...servers.slice(0, first)]) {
    try {
      await refuse(server)
      const socket = await dialServer(server, address)
      lastAccepted.set(list, servers.indexOf(server))
      return socket
    } catch (error) {
      errors.push(error as Error)
    }
  }
  const messages = errors.map(({ message, code }) => message || code)
  const [error] = errors
  return failing(errors.length === 1 && error ? error : coded('CONNECT_NO_SERVER', messages.join('; ')))
}

export const nameOf = (server: PostgresServer): string =>
  'path' in server ? server.path : `${server.host}:${server.port}`

const coded = (code: string, message: string) => Object.assign(new Error(message), { code })
const failing = (error: Error): Duplex =>
  new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done(error) })

const dialServer = async (server: PostgresServer, address: PostgresAddress): Promise<Duplex> => {
  const { ssl, connectMsMax } = address
  const isPlain = 'path' in server || ssl.mode === 'disable'
  const { ca, cert, key } = ssl.files
  const files = {
    ...(ca && !isPlain && { ca: readFileSync(ca) }),
    ...(cert && key && !isPlain && { cert: readFileSync(cert), key: readFileSync(key) }),
  }
  const signal = AbortSignal.timeout(connectMsMax)
  const socket = connect('path' in server ? server : { host: server.host, port: server.port })
  let isConnected = false
  try {
    await once(socket, 'connect', { signal })
    isConnected = true
    if (isPlain) return socket
    if (ssl.isDirect || (await offersTls(socket, signal)))
      return await secured(socket, server.name, ssl, files, signal)
    if (ssl.mode === 'prefer') return socket
    throw coded('CONNECT_NO_TLS', 'The server offers no TLS.')
  } catch (error) {
    socket.destroy()
    if (signal.aborted) throw coded('CONNECT_TIMEOUT', `connect ETIMEDOUT ${nameOf(server)}`)
    // Whatever is wrong with TLS, as with libpq.
    if (ssl.mode !== 'prefer' || !isConnected) throw error
    return dialServer(server, { ...address, ssl: { ...ssl, mode: 'disable' } })
  }
}

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const offersTls = async (socket: Socket, signal: AbortSignal): Promise<boolean> => {
  socket.write(SSL_REQUEST)
  const closed = once(socket, 'close', { signal }).then(() => [''])
  const [answer] = await Promise.race([once(socket, 'data', { signal }), closed])
  // A longer answer would come from a man in the middle.
  if (!/^[SN]$/.test(`${answer}`)) throw coded('ECONNRESET', 'The server closed the connection.')
  return `${answer}` === 'S'
}

const secured = async (
  socket: Socket,
  name: string,
  { checks, isDirect }: PostgresAddress['ssl'],
  files: object,
  signal: AbortSignal,
) => {
  const secure = connectSecurely({
    ...files,
    socket,
    ...(isIP(name) === 0 && { servername: name }),
    ...(isDirect && { ALPNProtocols: ['postgresql'] }),
    rejectUnauthorized: checks !== 'nothing',
    checkServerIdentity: (_host, found) => (checks === 'host' ? checkServerIdentity(name, found) : undefined),
  })
  await once(secure, 'secureConnect', { signal })
  return secure
}
