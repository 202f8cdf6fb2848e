/** A request of a vendor. Names of headers are in lower case. */
export type Delivery = {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
  readonly method: string
  /** The URL as the vendor called it; null if unknown. */
  readonly url: string | null
  /** Maximum size of the body once it is inflated. */
  readonly bytesMax?: number | undefined
}
type WithHeaders = Pick<Delivery, 'headers'>

/** Maximum hops: an activity leads to events, and their webhooks may lead to activities. Two may be on purpose. */
const HOPS_MAX = 2

/** The text of a header; values of a repeated header are joined. Undefined if it is missing. */
export const headerIn = ({ headers }: WithHeaders, name: string): string | undefined => {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/** How many webhooks of services like this one led to a delivery, one after another, as those services count. */
export const hopsIn = (delivery: WithHeaders): number => {
  const digits = /\d+/.exec(headerIn(delivery, 'webhook-hops') ?? '')
  return digits === null ? 0 : Number(digits[0])
}

/** The reason, for people, to refuse a delivery even if it is verified; null if there is none. */
export const loopIn = (delivery: WithHeaders): string | null =>
  hopsIn(delivery) > HOPS_MAX ? 'A webhook led to this delivery by way of two hooks: it is a loop.' : null
