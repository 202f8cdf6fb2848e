import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'

export type Lookup = (
  hostname: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void
type Settings = {
  /** Names that the system may look up: `isTrusted` always, `mayBeLocal` if the name servers deny them at once. */
  readonly isTrusted: (hostname: string) => boolean
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
    const asked = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = asked.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    const error = asked[0].status === 'rejected' && addresses.length === 0 ? asked[0].reason : null
    if (error && mayBeLocal && !SLOW.includes(error.code)) return systemLookup(hostname, options, done)
    done(
      error,
      addresses.map((address) => ({ address, family: isIP(address) })),
    )
  }
