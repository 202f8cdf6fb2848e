import type { ProspectExportLine } from '../../shapes/prospect-export.ts'
import type { ProspectLog } from '../../shapes/prospect-log.ts'
import { ITEMS_MAX } from '../../shapes/slice.ts'
import { cursorAfter, type listTimeline, type TimelineListing } from '../activities/list-timeline.ts'
import { countThatFit } from '../engine/count-that-fit.ts'
import { DomainFailure } from '../engine/failures.ts'
import { asOutcome } from '../engine/outcome.ts'
import type { Result } from '../engine/result.ts'
import { charactersOf } from '../engine/slices.ts'
import { erasureOf } from '../erasures/get-erasure.ts'
import type { FoundProspect, ProspectKey } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import { type getProspect, shownProspect } from './get-prospect.ts'

type Deps = Pick<Needs<'erasures' | 'prospects'>, 'store'> & ExportTools
/** The reads of which an export consists. */
export type ExportTools = {
  readonly getProspect: ReturnType<typeof getProspect>
  readonly listTimeline: ReturnType<typeof listTimeline>
  /** Reads a merged prospect. Each may be as large as a request, so that few should be read at once. */
  readonly findMerged: (key: ProspectKey) => Promise<FoundProspect | null>
}

/** Total length of the activities that are kept while a reader waits. A single one may be longer. */
const KEPT_LENGTH_MAX = 32_768
const FIRST_LIMIT = 10

/**
 * Everything about one person, for a request for access: the prospect, those that were merged into it, each activity,
 * newest first by when it happened, and a last line that says that nothing is missing. For an erased person there is
 * only the erasure. A slice is read when its first line is requested, and little is held in between: concurrent changes
 * may be in it or not, and the erasure of the person ends it with `prospect_erased`. Refuses `prospect_not_found`,
 * `prospect_erased`.
 */
export const exportProspect = ({ store, getProspect, listTimeline, findMerged }: Deps) => {
  /** While a reader waits it holds ids and a few activities: an email may be as large as a request. */
  async function* linesOf(key: ProspectKey): AsyncGenerator<ProspectExportLine> {
    const { tenantId, prospectId } = key
    const { value: prospect } = await getProspect(key)
    yield { prospect }
    for (const prospectId of await mergedInto(key))
      yield { merged: await mergedOne({ tenantId, prospectId }) }
    const listing: TimelineListing = { tenantId, prospectId, limit: FIRST_LIMIT }
    let logs = 0
    for (;;) {
      const { items, next } = await someOf(listing)
      const { length } = items
      while (items.length > 0) yield { prospectLog: items.shift() as ProspectLog }
      logs += length
      if (next === undefined) break
      listing.cursor = next
      // Little more than was kept: the rest is read again.
      listing.limit = Math.min(ITEMS_MAX, 2 * length || FIRST_LIMIT)
    }
    yield { done: true, logs }
  }

  const mergedInto = async (key: ProspectKey) => {
    const [, ...merged] = await store.prospects.findWithMerged(key)
    return merged.map(({ prospectId }) => prospectId)
  }
  const mergedOne = async (key: ProspectKey) => {
    const { prospectId, email, externalId } = shownProspect(await findMerged(key))
    return { prospectId, email, externalId }
  }

  /** The beginning of a slice, and where to go on. */
  const someOf = async (listing: TimelineListing) => {
    const { items, nextCursor } = (await listTimeline({ ...listing })).value
    const kept = items.slice(0, countThatFit(items, charactersOf, KEPT_LENGTH_MAX))
    const last = kept.at(-1)
    const isAll = last === undefined || kept.length === items.length
    return { items: kept, next: isAll ? nextCursor : cursorAfter(listing, last) }
  }

  return async (key: ProspectKey): Promise<Result<AsyncIterable<ProspectExportLine>>> => {
    const { tenantId } = key
    const found = await getProspect(key).catch(asOutcome)
    if (!(found instanceof DomainFailure))
      return { value: linesOf({ tenantId, prospectId: found.value.prospectId }) }
    const isErased = found.kind === 'prospect_erased'
    const erasure = isErased ? await store.erasures.find({ tenantId, erasedId: key.prospectId }) : null
    if (erasure === null) throw found
    return { value: erasureLines({ erasure: erasureOf(erasure) }) }
  }
}

async function* erasureLines(erasure: ProspectExportLine): AsyncGenerator<ProspectExportLine> {
  yield erasure
  yield { done: true, logs: 0 }
}
