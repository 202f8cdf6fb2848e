/** What programs pass to the operations that they call directly: what HTTP takes, with the ids of its path and key. */
import * as v from 'valibot'
import { NewPage } from './page.ts'
import { PageGroupInput, PageGroupQuery } from './page-group.ts'
import { idempotencyKey, NewProspectLog } from './prospect-log.ts'
import { SliceQuery } from './slice.ts'
import { boundedText, text } from './text.ts'

const LIFE_MS_MAX = 8_640_000_000_000
const isLife = (ms: number): boolean => Number.isInteger(ms) && ms >= 1 && ms <= LIFE_MS_MAX
const ofTenant = { tenantId: text() }
const ofGroup = { ...ofTenant, pageGroupId: text() }
const name = boundedText(1, 255)

export const TenantInput = v.object({ name })
export const ApiKeyInput = v.object({
  ...ofTenant,
  name: v.optional(v.nullable(name), null),
  lifeMs: v.optional(
    v.nullable(v.pipe(v.number(), v.check(isLife, `must be a whole number from 1 to ${LIFE_MS_MAX}`))),
    null,
  ),
})
export const PageGroupCreation = v.object({ ...ofTenant, ...PageGroupInput.entries, name, title: name })
export const ActivityInput = v.object({ ...ofTenant, ...NewProspectLog.entries })
export const PageCreationInput = v.object({
  ...ofGroup,
  ...NewPage.entries,
  idempotencyKey: v.optional(idempotencyKey()),
})
export const PageGroupListInput = v.object({ ...ofTenant, ...PageGroupQuery.entries })
export const PageListInput = v.object({ ...ofGroup, ...SliceQuery.entries })
export const PageInput = v.object({ ...ofGroup, pageId: text() })
