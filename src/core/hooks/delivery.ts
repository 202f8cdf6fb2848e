/** A request of a vendor. Names of headers are in lower case. */
export type Delivery = {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
  readonly method: string
  /** The URL as the vendor called it; null if unknown. */
  readonly url: string | null
  /** The query of the URL, without its question mark. */
  readonly query?: string | undefined
  /** The sizes of the files of a form, if they were left out of its body. */
  readonly fileBytes?: readonly number[] | undefined
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

/**
 * How many webhooks of services like this one led to a delivery, one after another, as those services count. Of several
 * numbers the largest counts: a relay may add a header instead of replacing it.
 */
export const hopsIn = (delivery: WithHeaders): number => {
  const numbers = headerIn(delivery, 'webhook-hops')?.match(/\d+/g) ?? []
  return numbers.reduce((most, digits) => Math.max(most, Number(digits)), 0)
}

/** The reason, for people, to refuse a delivery even if it is verified; null if there is none. */
export const loopIn = (delivery: WithHeaders): string | null =>
  hopsIn(delivery) > HOPS_MAX ? 'A webhook led to this delivery by way of two hooks: it is a loop.' : null

/**
 * The reason, for people, to refuse to log so many activities of a delivery; null if there is none. If each of them led to
 * webhooks whose deliveries hold many again, one activity could lead to millions before the loop ends.
 */
export const multiplicationIn = (delivery: WithHeaders, activitiesCount: number): string | null =>
  hopsIn(delivery) > 0 && activitiesCount > 1
    ? `A webhook led to this delivery, so it may hold one activity, not ${activitiesCount}.`
    : null
