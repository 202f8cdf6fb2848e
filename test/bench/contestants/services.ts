import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Case, CaseName, CursorOf } from '../cases.ts'
import type { Address } from '../database.ts'
import type { Filled } from '../fill.ts'
import { BIN } from '../program.ts'
import { type ServiceContestant, serviceContestant } from './contestant.ts'
import { type Service, startService } from './service.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const base64url = (text: string) => Buffer.from(text).toString('base64url')

/** See `src/core/engine/slices.ts`. */
export const ourCursor: CursorOf = (pageGroupId, pageId) => base64url(`1:pages/${pageGroupId}:${pageId}`)
const rivalCursor: CursorOf = (_pageGroupId, pageId) => base64url(pageId)

export type Launch = () => Promise<Service>

/** The built program, as anybody starts it. `folder` takes its logs. */
export const launchOurs =
  (
    databaseUrl: string,
    folder: string,
    { bin = BIN, env = {} }: { bin?: string; env?: Readonly<Record<string, string>> } = {},
  ): Launch =>
  () =>
    startService({
      script: bin,
      args: ['serve'],
      env: { DATABASE_URL: databaseUrl, ...env },
      logPath: join(folder, 'prospect-pages.log'),
      readyPath: '/readyz',
    })

export const launchRival =
  (rival: 'fastify' | 'express' | 'floor', { folder: host, name }: Address, folder: string): Launch =>
  () =>
    startService({
      script: here(`${rival}.js`),
      env: { PGHOST: host, PGUSER: 'postgres', PGDATABASE: name },
      logPath: join(folder, `${rival}.log`),
      readyPath: '/healthz',
    })

export const ours = (name: string, launch: Launch, filled: Filled): ServiceContestant =>
  serviceContestant({ name, launch, filled, cursorOf: ourCursor, publishes: true })

/** Under contention a rival now and then answers 500; that is not a reason to measure nothing. */
const RIVAL_FAILED_PART_MAX = 0.02

export const rival = (name: string, launch: Launch, filled: Filled): ServiceContestant =>
  serviceContestant({ name, launch, filled, cursorOf: rivalCursor, failedPartMax: RIVAL_FAILED_PART_MAX })

/** Does a few cases only: see `floor.js`. */
export const floor = (launch: Launch, filled: Filled): ServiceContestant =>
  serviceContestant({ name: 'floor', launch, filled, cursorOf: rivalCursor, takes: FLOOR_CASES })
const FLOOR_CASES: readonly CaseName[] = ['log-known', 'batch-100', 'batch-1000', 'page']

/** Bare node:http, which answers as many bytes as the service does that `sizes` were taken of. */
export const bare = (
  filled: Filled,
  sizes: ReadonlyMap<CaseName, number>,
  folder: string,
): ServiceContestant =>
  serviceContestant({
    name: 'bare node:http',
    launch: () =>
      startService({
        script: here('bare.js'),
        env: {},
        logPath: join(folder, 'bare.log'),
        readyPath: '/healthz',
      }),
    filled,
    cursorOf: ourCursor,
    requestAs: (request, { name }: Case) => ({ ...request, path: `/${sizes.get(name)}` }),
  })
