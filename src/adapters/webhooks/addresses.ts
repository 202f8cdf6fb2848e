import { BlockList, isIP, type LookupFunction } from 'node:net'
import { type Lookup, lookupNames } from './names.ts'

const URL_CHARACTERS_MAX = 2_048
/** Non-public addresses: private, local, shared, documentation, multicast, reserved and tunnel addresses. */
const REFUSED = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12
  192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4 ::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20
  5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`.split(/\s+/)

export type AddressSettings = {
  /** Host names and networks (`10.0.0.0/8`) that may be called even if they are not public, and even by `http:`. */
  readonly allowedHosts?: readonly string[] | undefined
  readonly allowedNetworks?: readonly string[] | undefined
  /** Whether to keep the beginning of an answer from a public address. True by default; false keeps nothing. */
  readonly answers?: boolean | undefined
}
type Settings = AddressSettings & {
  /** The names of these two settings, for messages. */
  readonly settings?: string
  readonly lookup?: Lookup
}
/** An address that this process must not call; another process may have other settings. */
export class RefusedAddress extends Error {}
export type Addresses = ReturnType<typeof createAddresses>

/** Checks the addresses that webhooks are sent to. */
export const createAddresses = ({
  allowedHosts = [],
  allowedNetworks = [],
  answers = true,
  settings = 'allowedHosts or allowedNetworks',
  lookup,
}: Settings) => {
  const refused = networks(REFUSED)
  const allowed = networks(allowedNetworks)
  const hosts = new Set(allowedHosts.map((host) => host.toLowerCase()))
  const isTrusted = (hostname: string) => hosts.has(hostname)
  const lookUp = lookup ?? lookupNames({ isTrusted, mayBeLocal: allowedNetworks.length > 0 })
  /** IPv4 addresses that are mapped to IPv6 are matched as IPv4. */
  const mayCall = (address: string, protocol: string): boolean =>
    allowed(address) || (protocol === 'https:' && !refused(address))

  return {
    /** The rule that this URL breaks, or null if it may be called. The addresses of a name are checked at the look-up. */
    checkUrl: (text: string): string | null => {
      if (text.length > URL_CHARACTERS_MAX) return `must have at most ${URL_CHARACTERS_MAX} characters`
      if (TEMPLATE.test(text)) return 'must not contain {{: only the body is filled in'
      if (!URL.canParse(text)) return 'must be a URL'
      const url = new URL(text)
      const { protocol, username, password, port } = url
      if (username !== '' || password !== '') return 'must not have a user name or password'
      if (protocol !== 'https:' && protocol !== 'http:') return 'must be an https: URL'
      if (port === '0') return 'must not have the port 0'
      const address = hostOf(url)
      if (isTrusted(address)) return null
      const isName = isIP(address) === 0
      const mayUseHttp = isName ? allowedNetworks.length > 0 : allowed(address)
      if (protocol === 'http:' && !mayUseHttp)
        return `must be an https: URL, unless ${settings} allows its host`
      if (!isName && !mayCall(address, protocol))
        return `must have a public address, unless ${settings} allows it`
      return null
    },
    /** Whether answers from this address of the URL's host may be kept: it is public without any setting. */
    mayKeep: (url: URL, address: string): boolean =>
      answers && !isTrusted(hostOf(url)) && !allowed(address) && !refused(address),
    /** Looks up hosts for one protocol. Fails if any address must not be called. Node skips it for literal addresses. */
    lookupFor:
      (protocol: string): LookupFunction =>
      (hostname, options, done) =>
        lookUp(hostname, { ...options, all: true }, (error, found) => {
          // Unknown and internal hosts get the same error, so that callers do not learn which internal names exist.
          const isUnknown = error !== null && UNKNOWN.includes(String(error.code))
          if (error !== null && (isTrusted(hostname) || !isUnknown)) return done(error, '')
          const [first] = error === null ? found : []
          const areAllowed = isTrusted(hostname) || found?.every(({ address }) => mayCall(address, protocol))
          if (first === undefined || !areAllowed) {
            const why = `The host is unknown, or not public and not allowed by ${settings}.`
            return done(new RefusedAddress(why), '')
          }
          if (options.all) return done(null, found)
          return done(null, first.address, first.family)
        }),
  }
}
/** `{{`, as it is or encoded. */
const TEMPLATE = /(\{|%7b){2}/i
const UNKNOWN = ['ENOTFOUND', 'ENODATA']
const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '')

/** The list is built at the first check: most services send no webhook soon after their start. */
const networks = (list: readonly string[]) => {
  let blocks: BlockList | undefined
  // A zone, as in `fe80::1%eth0`, would match nothing.
  return (address: string) => {
    blocks ??= blocksOf(list)
    return blocks.check(address.replace(/%.*/, ''), familyOf(address))
  }
}
const blocksOf = (list: readonly string[]) => {
  const blocks = new BlockList()
  for (const network of list) {
    const [address = '', prefix] = network.split('/')
    blocks.addSubnet(address, Number(prefix), familyOf(address))
  }
  return blocks
}
const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')
