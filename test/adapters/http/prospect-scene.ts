import { openScene } from '../../support/api.ts'

const START_MS = Date.UTC(2026, 0, 1)
/** The time so many milliseconds after the scene began. */
export const at = (ms: number) => new Date(START_MS + ms).toISOString()

export type Receipt = {
  readonly prospectId: string
  readonly prospectLogId: string
  readonly createdProspect: boolean
}
export type Prospect = {
  readonly prospectId: string
  readonly tenantId: string
  readonly email: string | null
  readonly externalId: string | null
  readonly name: string | null
  readonly attributes: object
  readonly createdAt: string
  readonly updatedAt: string
}

/** What a prospect reads back with that has one email and one external id at most, and had no other. */
export const NO_OTHERS = { otherEmails: [], otherExternalIds: [], formerEmails: [], formerExternalIds: [] }

/** A tenant that has logged an activity of Ada. */
export const openAdaScene = async () => {
  const scene = await openScene()
  const { call, owner } = scene
  const get = (path: string) => call(`GET ${path}`)
  /** Logs an activity, of somebody unknown unless the fields say whose it is. */
  const log = async (fields: object = {}): Promise<Receipt> => {
    const { json } = await call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {}, ...fields } })
    return json as Receipt
  }
  const { prospectId, prospectLogId } = await log({ email: ' Ada@x ', name: 'Ada', idempotencyKey: 'one' })
  const ada: Prospect = {
    prospectId,
    tenantId: owner.tenantId,
    email: 'ada@x',
    externalId: null,
    name: 'Ada',
    attributes: {},
    createdAt: at(0),
    updatedAt: at(0),
  }
  return {
    ...scene,
    get,
    log,
    ada,
    adasLogId: prospectLogId,
    adasTimeline: `/v0/prospects/${prospectId}/prospect_logs`,
    correct: (id: string, json: unknown) => call(`PATCH /v0/prospects/${id}`, { json }),
    correctAda: (json: unknown) => call(`PATCH /v0/prospects/${prospectId}`, { json }),
    merge: (from: string, json: object) => call(`POST /v0/prospects/${from}/merge`, { json }),
    erase: (id: string) => call('POST /v0/erasures', { json: { prospectId: id } }),
  }
}
