/** What programs pass to the operations that they call directly: what HTTP takes, with the ids of its path and key. */
import * as v from 'valibot'
import { NewErasure } from './erasure.ts'
import { NewPage } from './page.ts'
import { PageGroupInput, PageGroupQuery } from './page-group.ts'
import { ProspectChanges, ProspectQuery } from './prospect.ts'
import { idempotencyKey, NewProspectLog, ProspectLogQuery, TimelineQuery } from './prospect-log.ts'
import { SliceQuery } from './slice.ts'
import { boundedText, text, whole } from './text.ts'

const ofTenant = { tenantId: text() }
const ofGroup = { ...ofTenant, pageGroupId: text() }
const ofProspect = { ...ofTenant, prospectId: text() }
const name = boundedText(1, 255)
const LIFE_MS_MAX = 1_000 * 366 * 86_400_000

export const TenantInput = v.object({ name })
export const ApiKeyInput = v.object({
  ...ofTenant,
  name: v.optional(v.nullable(name), null),
  lifeMs: v.optional(
    v.nullable(v.pipe(whole(1), v.maxValue(LIFE_MS_MAX, 'must be at most 1,000 years'))),
    null,
  ),
})
export const PageGroupCreation = v.object({ ...ofTenant, ...PageGroupInput.entries, name, title: name })
export const ActivityInput = v.object({ ...ofTenant, ...NewProspectLog.entries })
const repeatable = { idempotencyKey: v.optional(idempotencyKey()) }
export const PageCreationInput = v.object({ ...ofGroup, ...NewPage.entries, ...repeatable })
export const PageGroupListInput = v.object({ ...ofTenant, ...PageGroupQuery.entries })
export const PageListInput = v.object({ ...ofGroup, ...SliceQuery.entries })
export const ErasureInput = v.object({ ...ofTenant, ...NewErasure.entries })
export const ErasureListInput = v.object({ ...ofTenant, ...SliceQuery.entries })
export const ErasureReadInput = v.object({ ...ofTenant, erasureId: text() })
export const PageInput = v.object({ ...ofGroup, pageId: text() })
export const ProspectInput = v.object(ofProspect)
export const ProspectListInput = v.object({ ...ofTenant, ...ProspectQuery.entries })
export const ProspectUpdateInput = v.object({ ...ofProspect, ...ProspectChanges.entries })
export const TimelineInput = v.object({ ...ofProspect, ...TimelineQuery.entries })
export const ProspectLogListInput = v.object({ ...ofTenant, ...ProspectLogQuery.entries })
export const ProspectLogInput = v.object({ ...ofTenant, prospectLogId: text() })
