import { isIP } from 'node:net'
import { orNull } from '../core/engine/or-null.ts'

/** A socket of this machine, or a host; `name` is the one that its certificate must have. */
export type PostgresServer =
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly name: string }

/** Everything an address says, completed from libpq's environment variables. */
export type PostgresAddress = {
  /** Tried in this order. */
  readonly servers: readonly PostgresServer[]
  readonly user: string | undefined
  readonly password: string | undefined
  /** By default the database has the name of the user. */
  readonly database: string | undefined
  readonly targetSessionAttrs: 'any' | 'read-write' | 'primary'
  readonly connectMsMax: number
  readonly ssl: {
    readonly mode: 'disable' | 'prefer' | 'require'
    readonly checks: 'nothing' | 'authority' | 'host'
    /** Without the request that older servers need before TLS. */
    readonly isDirect: boolean
    /** Files in PEM. Without `ca` the authorities of Node count. */
    readonly files: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  }
  /** Parameters of the session, which the server checks. */
  readonly session: Readonly<Record<string, string>>
}

/** Unescaped delimiters in the password are refused: part of it would appear in errors as the host. */
const URI = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^@?#]*))?(?:\?([^@#]*))?$/
const ESCAPES = 'in a user name or password write @ as %40, / as %2F, ? as %3F, # as %23 and % as %25'

const FORM = 'must be postgres://user:password@host:5432/database'
const MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']
/** Modes that are not supported, and what to write instead. */
const OTHER_MODES = new Map([
  ['allow', 'prefer'],
  ['no-verify', 'require'],
])
/** The values of the parameter `ssl`, which other drivers have, as those of `sslmode`. */
const SSL_AS_MODE = new Map([
  ['true', 'require'],
  ['false', 'disable'],
])
const PARAMETER_OF_VARIABLE = {
  PGHOST: 'host',
  PGPORT: 'port',
  PGUSER: 'user',
  PGPASSWORD: 'password',
  PGDATABASE: 'dbname',
  PGSSLMODE: 'sslmode',
  PGSSLROOTCERT: 'sslrootcert',
  PGSSLCERT: 'sslcert',
  PGSSLKEY: 'sslkey',
  PGOPTIONS: 'options',
  PGCONNECT_TIMEOUT: 'connect_timeout',
  PGSSLNEGOTIATION: 'sslnegotiation',
  PGCHANNELBINDING: 'channel_binding',
  PGGSSENCMODE: 'gssencmode',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
}
/** The values with which a parameter has no effect here. */
const VALUES_WITHOUT_EFFECT = new Map([
  ['channel_binding', ['prefer', 'disable']],
  ['client_encoding', ['auto', 'utf8', 'utf-8', 'unicode']],
  ['gssencmode', ['prefer', 'disable']],
  ['load_balance_hosts', ['disable']],
  ['pgbouncer', ['false']],
  ['sslcompression', ['0']],
  ['sslsni', ['1']],
])
/** Parameters that have no effect here, whatever their values. */
const WITHOUT_EFFECT = new Set([
  'fallback_application_name',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'tcp_user_timeout',
  'uselibpqcompat',
])
/** Parameters of libpq and of other programs that would be ignored here, each with what to do instead. */
const INSTEAD = new Map([
  ['channel_binding', 'sslmode=verify-full proves which server it is'],
  ['gssencmode', 'sslmode=require encrypts'],
  ['pgbouncer', 'set DATABASE_POOLER=true'],
  ['schema', 'options=-csearch_path%3DNAME names a schema'],
  ['connection_limit', 'set DATABASE_CONNECTIONS_MAX'],
  ['socket_timeout', 'set STATEMENT_MS_MAX'],
  ['pool_timeout', 'requests wait for two seconds at most'],
  ['passfile', 'write the password, or set PGPASSWORD'],
])
/** How the names of parameters begin that are not supported. */
const UNSUPPORTED = [
  'client_encoding',
  'gss',
  'krb',
  'load_balance',
  'max_protocol',
  'min_protocol',
  'oauth_',
  'replication',
  'require',
  'scram_',
  'service',
  'ssl_m',
  'sslaccept',
  'sslcertmode',
  'sslcompression',
  'sslcrl',
  'sslidentity',
  'sslkeylogfile',
  'sslpassword',
  'sslsni',
  'statement_cache',
]

type Environment = Readonly<Record<string, string | undefined>>
/** Returns a parameter and removes it, so that those of the session are left at the end. */
type Take = (name: string) => string | undefined

/**
 * Reads an address as libpq does, from its chapter "Connection URIs", with the variables of libpq. Throws a sentence
 * that follows the name of a setting, and shows nothing that may be a password. A host is `localhost` by default. A list
 * of servers is searched for one that takes writes, unless `target_session_attrs` says otherwise.
 */
export const readPostgresAddress = (uri: string, environment: Environment = process.env): PostgresAddress => {
  const parameters = parametersOf(uri, environment)
  for (const [name, value] of parameters) {
    if (hasNoEffect(name.toLowerCase(), value.toLowerCase())) parameters.delete(name)
    else refuseUnsupported(name)
  }
  const take: Take = (name) => {
    const value = parameters.get(name)
    parameters.delete(name)
    return value
  }
  const servers = serversOf(take('host'), take('hostaddr'), take('port'))
  const ssl = sslOf(take)
  const targetSessionAttrs = attributesOf(take('target_session_attrs'), servers.length)
  const connectMsMax = connectMsOf(take('connect_timeout'), servers.length)
  const user = take('user')
  const password = take('password')
  const database = take('dbname')
  const session = Object.fromEntries(parameters)
  return { servers, user, password, database, targetSessionAttrs, connectMsMax, ssl, session }
}

/** The parameters of an address by their names in libpq. Those of its query count most, those of the environment least. */
const parametersOf = (uri: string, environment: Environment): Map<string, string> => {
  const [, userinfo = '', hosts = '', dbname = '', query = ''] = URI.exec(uri) ?? fail(formHint(uri))
  const [user = '', password = ''] = userinfo.split(/:(.*)/s)
  const places = hosts.split(',').map(placeIn)
  const host = listOf(places.map((place) => place.host))
  const port = listOf(places.map((place) => place.port))

  const parameters = new Map<string, string>()
  const set = (name: string, value: string | undefined) => {
    if (value) parameters.set(name, value)
  }
  for (const [variable, name] of Object.entries(PARAMETER_OF_VARIABLE)) set(name, environment[variable])
  for (const [name, text] of Object.entries({ user, password, dbname, host, port })) set(name, decoded(text))
  for (const pair of query.split('&')) {
    const [name = '', text = ''] = pair.split(/=(.*)/s)
    if (name === 'ssl') set('sslmode', SSL_AS_MODE.get(text) ?? decoded(text))
    else set(decoded(name), decoded(text))
  }
  return parameters
}

/** A list as a parameter has it: empty if all its items are. */
const listOf = (items: readonly string[]): string => items.join().replace(/^,+$/, '')

const decoded = (text: string): string => {
  const plain = orNull(() => decodeURIComponent(text)) ?? fail(`${FORM}; ${ESCAPES}`)
  return plain.includes('\0') ? fail('must not contain %00') : plain
}

const hasNoEffect = (name: string, value: string): boolean =>
  WITHOUT_EFFECT.has(name) || VALUES_WITHOUT_EFFECT.get(name)?.includes(value) === true

const refuseUnsupported = (name: string): void => {
  const isUnsupported = UNSUPPORTED.some((start) => name.startsWith(start))
  const instead = INSTEAD.get(name) ?? (isUnsupported ? 'it is not supported' : undefined)
  if (instead !== undefined) fail(`has the parameter ${name}. Remove it: ${instead}`)
}

const attributesOf = (text: string | undefined, servers: number): PostgresAddress['targetSessionAttrs'] => {
  if (text === undefined) return servers > 1 ? 'read-write' : 'any'
  if (text === 'any' || text === 'read-write' || text === 'primary') return text
  return fail(`has target_session_attrs=${word(text)}: this service writes; use read-write, primary or any`)
}

const connectMsOf = (seconds = '', servers: number): number => {
  if (!/^-?\d{0,6}$/.test(seconds)) fail('must have a whole number of seconds as connect_timeout')
  if (Number(seconds) > 0) return Number(seconds) * 1_000
  // Less for each of several servers, so that the others are tried within the time of a statement.
  return servers > 1 ? 1_500 : 3_000
}

const fail = (detail: string): never => {
  throw new Error(detail)
}
/** The form of an address. An unescaped delimiter is often the reason why it cannot be read. */
const formHint = (uri: string): string =>
  /^postgres(ql)?:\/\/.*[@#%]/s.test(uri) ? `${FORM}; ${ESCAPES}` : FORM
/** A value that may be shown: a longer or stranger one may be part of a password. */
const word = (value: string): string => (/^[\w.-]{1,20}$/.test(value) ? value : '…')
/** `host`, `host:5433`, `[::1]:5433` or an escaped folder. */
const placeIn = (text: string) => {
  const [, bracketed, plain = '', port = ''] = /^(?:\[([^[\]]+)\]|([^:[\]]*))(?::(\d*))?$/.exec(text) ?? []
  if (bracketed === undefined && plain === '' && text !== '' && port === '')
    fail('has a host or port that cannot be read: an IPv6 address is written in brackets, such as [::1]:5432')
  return { host: bracketed ?? plain, port }
}

const serversOf = (host = 'localhost', hostaddr = '', port = ''): PostgresServer[] => {
  const names = host.split(',')
  const addresses = hostaddr.split(',')
  const ports = port.split(',')
  const count = Math.max(names.length, addresses.length)
  for (const list of [names, addresses, ports]) {
    if (list.length > 1 && list.length !== count) fail('must have as many ports and addresses as hosts')
  }
  return Array.from({ length: count }, (_, i) => {
    // A single name or port counts for all servers.
    const name = names.length === 1 ? names[0] : names[i]
    const portText = ports.length === 1 ? ports[0] : ports[i]
    return serverOf(name || 'localhost', addresses[i] ?? '', portText || '5432')
  })
}

const serverOf = (name: string, address: string, portText: string): PostgresServer => {
  const port = Number(portText)
  if (!/^\d{1,5}$/.test(portText) || port < 1 || port > 65_535) fail('must have a port from 1 to 65535')
  if (address !== '' && isIP(address) === 0) fail('must have an IP address as hostaddr')
  if (name.startsWith('/')) return { path: `${name.replace(/\/+$/, '')}/.s.PGSQL.${port}` }
  return { host: address || name, port, name }
}

const sslOf = (take: Take): PostgresAddress['ssl'] => {
  const root = take('sslrootcert')
  const cert = take('sslcert')
  const key = take('sslkey')
  const mode = take('sslmode') ?? (root === 'system' ? 'verify-full' : 'prefer')
  const negotiation = take('sslnegotiation') ?? 'postgres'
  if (!MODES.includes(mode)) refuseMode(mode)
  if (root === 'system' && mode !== 'verify-full')
    fail('has sslrootcert=system: it needs sslmode=verify-full')
  if (!/^(postgres|direct)$/.test(negotiation)) fail('must have postgres or direct as sslnegotiation')
  const isDirect = negotiation === 'direct'
  if (isDirect && !/^(require|verify)/.test(mode))
    fail('has sslnegotiation=direct: it needs sslmode=require or higher')
  if ((cert === undefined) !== (key === undefined)) fail('must have both sslcert and sslkey, or neither')
  const ca = root === 'system' ? undefined : root
  const files: { ca?: string; cert?: string; key?: string } = {}
  if (ca !== undefined) files.ca = ca
  if (cert !== undefined) files.cert = cert
  if (key !== undefined) files.key = key
  return {
    mode: mode === 'disable' || mode === 'prefer' ? mode : 'require',
    checks: checksOf(mode, ca),
    isDirect,
    files,
  }
}

const refuseMode = (mode: string): never => {
  const spelling = mode.toLowerCase().replace('_', '-')
  const other = OTHER_MODES.get(mode) ?? MODES.find((known) => known === spelling)
  const allowed = other === undefined ? `one of ${MODES.join(', ')}` : `${other} here`
  return fail(`has sslmode=${word(mode)}: it must be ${allowed}`)
}

const checksOf = (mode: string, ca: string | undefined): PostgresAddress['ssl']['checks'] => {
  if (mode === 'verify-full') return 'host'
  // As in libpq, an authority that is set counts in every mode.
  return mode === 'verify-ca' || ca !== undefined ? 'authority' : 'nothing'
}
