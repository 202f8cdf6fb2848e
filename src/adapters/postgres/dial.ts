import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type ConnectionOptions, checkServerIdentity, connect as connectSecurely } from 'node:tls'
import type { PostgresAddress, PostgresServer } from '../../config/postgres-address.ts'

/** Rejects if a server cannot be used. */
type Check = (server: PostgresServer) => Promise<void>
type TlsSettings = PostgresAddress['ssl']
type TlsFiles = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>

/** Index, per list, of the server accepted last. Trying it first avoids waiting for unreachable servers. */
const lastAccepted = new Map<string, number>()

/**
 * Connects to the first server that answers and that passes the check, with TLS as the address says. The driver
 * would split an IPv6 address, check the certificate of an IP address against `localhost`, and try a list for ever. If
 * no server is right, the result fails at the first write, so that the driver closes it properly.
 */
export const dial = async (address: PostgresAddress, check: Check): Promise<Duplex> => {
  const { servers } = address
  const list = servers.map(nameOf).join()
  const errors: NodeJS.ErrnoException[] = []
  const first = lastAccepted.get(list) ?? 0
  const lastAcceptedFirst = servers.slice(first).concat(servers.slice(0, first))
  for (const server of lastAcceptedFirst) {
    try {
      await check(server)
      const socket = await dialServer(server, address)
      lastAccepted.set(list, servers.indexOf(server))
      return socket
    } catch (error) {
      errors.push(error as Error)
    }
  }
  const [error] = errors
  if (errors.length === 1 && error !== undefined) return streamThatFailsWith(error)
  const messages = errors.map(({ message, code }) => message || code)
  return streamThatFailsWith(coded('CONNECT_NO_SERVER', messages.join('; ')))
}

export const nameOf = (server: PostgresServer): string =>
  'path' in server ? server.path : `${server.host}:${server.port}`

const coded = (code: string, message: string) => Object.assign(new Error(message), { code })
const streamThatFailsWith = (error: Error): Duplex =>
  new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done(error) })

/** Connects to one server. The time limit holds for all of it, as with libpq. */
const dialServer = async (
  server: PostgresServer,
  { ssl, connectMsMax }: PostgresAddress,
): Promise<Duplex> => {
  const signal = AbortSignal.timeout(connectMsMax)
  try {
    if ('path' in server || ssl.mode === 'disable') return await connectPlain(server, signal)
    const files = readTlsFiles(ssl.files)
    const socket = await connectPlain(server, signal)
    try {
      return await negotiateTls(socket, server.name, ssl, files, signal)
    } catch (error) {
      // `prefer` falls back to plain text after any TLS error, as libpq does.
      if (ssl.mode !== 'prefer') throw error
      return await connectPlain(server, signal)
    }
  } catch (error) {
    if (signal.aborted) throw coded('CONNECT_TIMEOUT', `connect ETIMEDOUT ${nameOf(server)}`)
    throw error
  }
}

const readTlsFiles = ({ ca, cert, key }: TlsSettings['files']): TlsFiles => {
  const files: TlsFiles = {}
  if (ca) files.ca = readFileSync(ca)
  if (cert && key) {
    files.cert = readFileSync(cert)
    files.key = readFileSync(key)
  }
  return files
}

const connectPlain = async (server: PostgresServer, signal: AbortSignal): Promise<Socket> => {
  const socket = connect('path' in server ? server : { host: server.host, port: server.port })
  try {
    await once(socket, 'connect', { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Continues with TLS; with `prefer`, continues in plain text if the server offers no TLS. */
const negotiateTls = async (
  socket: Socket,
  name: string,
  ssl: TlsSettings,
  files: TlsFiles,
  signal: AbortSignal,
): Promise<Duplex> => {
  try {
    if (ssl.isDirect || (await isTlsOffered(socket, signal)))
      return await secured(socket, name, ssl, files, signal)
    if (ssl.mode === 'prefer') return socket
    throw coded('CONNECT_NO_TLS', 'The server offers no TLS.')
  } catch (error) {
    socket.destroy()
    throw error
  }
}

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const isTlsOffered = async (socket: Socket, signal: AbortSignal): Promise<boolean> => {
  socket.write(SSL_REQUEST)
  const answer = await singleByte(socket, signal)
  if (answer !== 'S' && answer !== 'N') throw coded('ECONNRESET', 'The server closed the connection.')
  return answer === 'S'
}

/**
 * The byte that the server sends; null if it closes the connection. More bytes would come from a man in the middle: also
 * null.
 */
const singleByte = async (socket: Socket, signal: AbortSignal): Promise<string | null> => {
  const received = once(socket, 'data', { signal }).then(([bytes]: Buffer[]) => bytes)
  const closed = once(socket, 'close', { signal }).then(() => undefined)
  const bytes = await Promise.race([received, closed])
  return bytes?.length === 1 ? bytes.toString('latin1') : null
}

const secured = async (
  socket: Socket,
  name: string,
  { checks, isDirect }: TlsSettings,
  files: TlsFiles,
  signal: AbortSignal,
): Promise<Duplex> => {
  const options: ConnectionOptions = {
    ...files,
    socket,
    rejectUnauthorized: checks !== 'nothing',
    checkServerIdentity: (_host, certificate) =>
      checks === 'host' ? checkServerIdentity(name, certificate) : undefined,
  }
  if (isIP(name) === 0) options.servername = name
  if (isDirect) options.ALPNProtocols = ['postgresql']
  const secure = connectSecurely(options)
  await once(secure, 'secureConnect', { signal })
  return secure
}
