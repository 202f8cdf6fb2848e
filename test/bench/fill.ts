/** How much a database holds before it is measured. */
export type Size = {
  readonly groups: number
  /** Pages of the newest group; every other holds `pagesOfOthers`. */
  readonly bigGroupPages: number
  readonly pagesOfOthers: number
  readonly prospects: number
  readonly logs: number
  /** True if a tenth of the logs is of prospect 1; on PostgreSQL every millionth is of the type `rare`. */
  readonly skewed?: boolean
}

/** The size of the database before the cases and the hour. */
export const CASES_SIZE: Size = {
  groups: 200,
  bigGroupPages: 150_000,
  pagesOfOthers: 10,
  prospects: 50_000,
  logs: 100_000,
}

/** Facts about a filled database that the cases need. */
export type Filled = {
  readonly tenantId: string
  readonly brandId: string
  readonly apiKey: string
  readonly bigGroupId: string
  /** Takes all the pages of the case that creates them in one group. */
  readonly oneGroupId: string
  readonly manyGroupIds: readonly string[]
  /** Pages of the big group, spread over it. */
  readonly pageIds: readonly string[]
  /** The page of the big group at depth 100,000; its oldest where it has not so many. */
  readonly deepPageId: string
  /** Emails of prospects that are there, spread over them. */
  readonly knownEmails: readonly string[]
}
export type Owner = Pick<Filled, 'tenantId' | 'brandId' | 'apiKey'>

export const DEPTH = 100_000
const SPREAD = 5_000
const ACTIVE_EMAILS = 20_000
/** The number of a page is this many times its group's number, plus its position in the group. */
export const PAGES_PER_GROUP_MAX = 100_000_000

/** Ids older than any that a service makes. */
export const idOf = (prefix: string, number: number): string =>
  `${prefix}_01h${String(number).padStart(23, '0')}`
export const emailOf = (number: number): string => `known${number}@example.com`

export const filledOf = (owner: Owner, size: Size): Filled => {
  const pageIdOf = (number: number) => idOf('page', size.groups * PAGES_PER_GROUP_MAX + number)
  return {
    ...owner,
    bigGroupId: idOf('pagegroup', size.groups),
    oneGroupId: idOf('pagegroup', size.groups - 1),
    manyGroupIds: Array.from({ length: 100 }, (_, i) => idOf('pagegroup', i + 1)),
    pageIds: spread(size.bigGroupPages).map(pageIdOf),
    deepPageId: pageIdOf(Math.max(1, size.bigGroupPages - DEPTH + 1)),
    knownEmails: spread(size.prospects, ACTIVE_EMAILS).map(emailOf),
  }
}

/** Up to `most` numbers from 1 to `count`, in an order that jumps. */
const spread = (count: number, most = SPREAD): number[] => {
  const length = Math.min(most, count)
  const numbers = Array.from({ length }, (_, i) => 1 + Math.floor((i * count) / length))
  // 1,009 is prime: every number comes once.
  return numbers.map((_, i) => numbers[(i * 1_009) % length] as number)
}

/* What the rows say. */

export const BODY_TEXT = {
  pageContext:
    'Offers of the season for customers who have bought before; short, friendly, no exclamation marks. '.repeat(
      2,
    ),
  actions: JSON.stringify([
    { kind: 'call', label: 'Call us', href: 'tel:+15550100' },
    { kind: 'form', label: 'Ask for an offer', href: '/offer' },
  ]),
  footerLinks: JSON.stringify([
    { label: 'Imprint', href: '/imprint' },
    { label: 'Privacy', href: '/privacy' },
  ]),
  scripts: JSON.stringify([{ src: 'https://cdn.example.com/a.js', async: true }]),
  computedName: 'A page about the spring sale',
  supplementaryContext: 'A page about the spring sale in our oldest shop, for customers who came last year',
  payload: JSON.stringify({
    form: 'contact',
    fields: { company: 'Example', topic: 'prices' },
    consent: true,
  }),
}

/** For SQL: a text of ours in quotes. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
