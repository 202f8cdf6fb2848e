import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'

export type Lookup = (
  hostname: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void
type Settings = {
  /** Whether a name is always looked up by the system. */
  readonly isTrusted: (hostname: string) => boolean
  /** Whether the system looks up other names if the name servers deny them at once. */
  readonly mayBeLocal: boolean
  readonly servers?: readonly string[]
}
const ATTEMPTS = { timeout: 2_000, tries: 2 }
const SLOW = ['ETIMEOUT', 'ESERVFAIL']

/**
 * Asks the name servers directly: a look-up by the system holds one of very few threads until it ends, so one tenant's
 * names that are never answered would delay every other look-up of the process.
 */
export const lookupNames =
  ({ isTrusted, mayBeLocal, servers }: Settings): Lookup =>
  async (hostname, options, done) => {
    if (isTrusted(hostname)) return systemLookup(hostname, options, done)
    const resolver = new Resolver(ATTEMPTS)
    if (servers) resolver.setServers(servers)
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses: string[] = []
    if (ipv4.status === 'fulfilled') addresses.push(...ipv4.value)
    if (ipv6.status === 'fulfilled') addresses.push(...ipv6.value)
    const error = ipv4.status === 'rejected' && addresses.length === 0 ? ipv4.reason : null
    if (error && mayBeLocal && !SLOW.includes(error.code)) return systemLookup(hostname, options, done)
    done(
      error,
      addresses.map((address) => ({ address, family: isIP(address) })),
    )
  }
