import { isIP } from 'node:net'
import { orNull } from '../core/engine/outcome.ts'

/** A socket of this machine, or a host; `name` is the one that its certificate must have. */
export type PostgresServer =
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly name: string }

/** Everything that an address says, with the variables of libpq for what it leaves out. */
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
const OTHER_MODES: Readonly<Record<string, string>> = { allow: 'prefer', 'no-verify': 'require' }
const FROM_ENVIRONMENT = Object.entries({
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
})
/** Parameters with these values have no effect here. */
const WITHOUT_EFFECT =
  /^((channel_binding|gssencmode)=(prefer|disable)|client_encoding=(auto|utf-?8|unicode)|load_balance_hosts=disable|pgbouncer=false|sslcompression=0|sslsni=1|(keepalives\w*|tcp_user_timeout|uselibpqcompat|fallback_application_name)=.*)$/i
/** Parameters of libpq and of other programs that would be ignored here, with what does the same. */
const INSTEAD: Readonly<Record<string, string>> = {
  channel_binding: 'sslmode=verify-full proves which server it is',
  gssencmode: 'sslmode=require encrypts',
  pgbouncer: 'set DATABASE_POOLER=true',
  schema: 'options=-csearch_path%3DNAME names a schema',
  connection_limit: 'set DATABASE_CONNECTIONS_MAX',
  socket_timeout: 'set STATEMENT_MS_MAX',
  pool_timeout: 'requests wait for two seconds at most',
  passfile: 'write the password, or set PGPASSWORD',
}
const UNSUPPORTED =
  /^(ssl(certmode|crl|password|keylogfile|_m|compression|sni|accept|identity)|service|m(in|ax)_protocol|krb|gss|oauth_|scram_|require|load_balance|client_encoding|replication|statement_cache)/

/**
 * Reads an address as libpq does, from its chapter "Connection URIs", with the variables of libpq. Throws a sentence
 * that follows the name of a setting, and shows nothing that may be a password. A host is `localhost` by default. A list
 * of servers is searched for one that takes writes, unless `target_session_attrs` says otherwise.
 */
export const readPostgresAddress = (
  uri: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): PostgresAddress => {
  const [, userinfo = '', hosts = '', path = '', query = ''] = URI.exec(uri) ?? fail(FORM_OR_ESCAPES(uri))
  const decoded = (text: string): string => {
    const plain = orNull(() => decodeURIComponent(text)) ?? fail(`${FORM}; ${ESCAPES}`)
    return plain.includes('\0') ? fail('must not contain %00') : plain
  }
  const places = hosts.split(',').map(placeIn)
  const listOf = (part: 'host' | 'port') =>
    places
      .map((place) => place[part])
      .join()
      .replace(/^,+$/, '')
  const [user, password] = userinfo.split(/:(.*)/s)
  const parts = Object.entries({ user, password, dbname: path, host: listOf('host'), port: listOf('port') })
  const parameters = new Map<string, string>()
  const set = (name = '', value?: string) => void (value && parameters.set(name, value))
  for (const [variable, name] of FROM_ENVIRONMENT) set(name, environment[variable])
  for (const [name = '', value = ''] of [...parts, ...query.split('&').map((pair) => pair.split(/=(.*)/s))])
    if (name === 'ssl') set('sslmode', { true: 'require', false: 'disable' }[value] ?? decoded(value))
    else set(decoded(name), decoded(value))

  const take = (name: string): string | undefined => {
    const value = parameters.get(name)
    parameters.delete(name)
    return value
  }
  for (const [name, value] of [...parameters]) {
    const instead = INSTEAD[name] ?? (UNSUPPORTED.test(name) && 'it is not supported')
    if (WITHOUT_EFFECT.test(`${name}=${value}`)) parameters.delete(name)
    else if (instead) fail(`has the parameter ${name}. Remove it: ${instead}`)
  }
  const servers = serversOf(take('host'), take('hostaddr'), take('port'))
  const ssl = sslOf(take)
  const attrs = take('target_session_attrs') ?? (servers.length > 1 ? 'read-write' : 'any')
  if (attrs !== 'any' && attrs !== 'read-write' && attrs !== 'primary')
    fail(`has target_session_attrs=${word(attrs)}: this service writes; use read-write, primary or any`)
  const seconds = take('connect_timeout') ?? ''
  if (!/^-?\d{0,6}$/.test(seconds)) fail('must have a whole number of seconds as connect_timeout')
  return {
    servers,
    user: take('user'),
    password: take('password'),
    database: take('dbname'),
    targetSessionAttrs: attrs as PostgresAddress['targetSessionAttrs'],
    // Less for each of several, so that the others have their turn within the time of a statement.
    connectMsMax: Number(seconds) > 0 ? Number(seconds) * 1_000 : servers.length > 1 ? 1_500 : 3_000,
    ssl,
    session: Object.fromEntries(parameters),
  }
}

const fail = (detail: string): never => {
  throw new Error(detail)
}
const FORM_OR_ESCAPES = (uri: string) =>
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
  const [names, addresses, ports] = [host, hostaddr, port].map((list) => list.split(','))
  const count = Math.max(names?.length ?? 0, hostaddr === '' ? 0 : (addresses?.length ?? 0))
  for (const list of [names, addresses, ports])
    if (list && list.length > 1 && list.length !== count)
      fail('must have as many ports and addresses as hosts')
  return Array.from({ length: count }, (_, i) => {
    const name = names?.[i] || (names?.length === 1 && names[0]) || 'localhost'
    const text = (ports?.length === 1 ? ports[0] : ports?.[i]) || '5432'
    if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65_535)
      fail('must have a port from 1 to 65535')
    const address = addresses?.[i] ?? ''
    if (address !== '' && isIP(address) === 0) fail('must have an IP address as hostaddr')
    if (name.startsWith('/')) return { path: `${name.replace(/\/+$/, '')}/.s.PGSQL.${Number(text)}` }
    return { host: address || name, port: Number(text), name }
  })
}

const sslOf = (take: (name: string) => string | undefined): PostgresAddress['ssl'] => {
  const [root, cert, key] = ['sslrootcert', 'sslcert', 'sslkey'].map(take)
  const mode = take('sslmode') ?? (root === 'system' ? 'verify-full' : 'prefer')
  const negotiation = take('sslnegotiation') ?? 'postgres'
  if (!MODES.includes(mode)) {
    const other = OTHER_MODES[mode] ?? MODES.find((known) => known === mode.toLowerCase().replace('_', '-'))
    fail(`has sslmode=${word(mode)}: it must be ${other ? `${other} here` : `one of ${MODES.join(', ')}`}`)
  }
  if (root === 'system' && mode !== 'verify-full')
    fail('has sslrootcert=system: it needs sslmode=verify-full')
  if (!/^(postgres|direct)$/.test(negotiation)) fail('must have postgres or direct as sslnegotiation')
  const isDirect = negotiation === 'direct'
  if (isDirect && !/^(require|verify)/.test(mode))
    fail('has sslnegotiation=direct: it needs sslmode=require or higher')
  if ((cert === undefined) !== (key === undefined)) fail('must have both sslcert and sslkey, or neither')
  const ca = root === 'system' ? undefined : root
  return {
    mode: mode === 'disable' || mode === 'prefer' ? mode : 'require',
    // As libpq does, a given authority counts in every mode.
    checks: mode === 'verify-full' ? 'host' : mode === 'verify-ca' || ca ? 'authority' : 'nothing',
    isDirect,
    files: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
  }
}
