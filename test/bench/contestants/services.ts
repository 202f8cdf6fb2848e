import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Case, CaseName, CursorOf } from '../cases.ts'
import type { Address } from '../database.ts'
import type { Filled } from '../fill.ts'
import { BIN } from '../program.ts'
import { type ServiceContestant, serviceContestant } from './contestant.ts'
import { type Service, startService } from './service.ts'

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const base64url = (text: string) => Buffer.from(text).toString('base64url')

/** See `src/core/engine/slices.ts`. */
export const ourCursor: CursorOf = (pageGroupId, pageId) => base64url(`1:pages/${pageGroupId}:${pageId}`)
const rivalCursor: CursorOf = (_pageGroupId, pageId) => base64url(pageId)

export type Launch = () => Promise<Service>

/** The built program, started as a user would. Its log goes to `folder`. */
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
  (
    program: 'fastify' | 'express' | 'floor',
    { folder: socketFolder, name: database }: Address,
    logFolder: string,
  ): Launch =>
  () =>
    startService({
      script: pathOf(`${program}.js`),
      env: { PGHOST: socketFolder, PGUSER: 'postgres', PGDATABASE: database },
      logPath: join(logFolder, `${program}.log`),
      readyPath: '/healthz',
    })

/** The command that `npm start` is in a generated project. */
const FASTIFY_CLI = pathOf('../node_modules/fastify-cli/cli.js')
export const launchFastifyApp =
  ({ folder: socketFolder, name: database }: Address, logFolder: string): Launch =>
  () =>
    startService({
      script: FASTIFY_CLI,
      args: ['start', '-l', 'info', '-a', '127.0.0.1', pathOf('fastify-app/app.js')],
      env: { PGHOST: socketFolder, PGUSER: 'postgres', PGDATABASE: database },
      logPath: join(logFolder, 'fastify-app.log'),
      readyPath: '/healthz',
    })

export const ourContestant = (name: string, launch: Launch, filled: Filled): ServiceContestant =>
  serviceContestant({ name, launch, filled, cursorOf: ourCursor, publishes: true })

/** Under contention a rival occasionally returns 500; a few of these do not spoil a run. */
const RIVAL_FAILED_PART_MAX = 0.02

export const rivalContestant = (name: string, launch: Launch, filled: Filled): ServiceContestant =>
  serviceContestant({ name, launch, filled, cursorOf: rivalCursor, failedPartMax: RIVAL_FAILED_PART_MAX })

const APP_CASES: readonly CaseName[] = [
  'log-known',
  'log-new',
  'log-key',
  'groups',
  'pages-first',
  'pages-deep',
  'page',
  'create-one',
  'create-many',
]

/** Has no batches. */
export const fastifyAppContestant = (launch: Launch, filled: Filled): ServiceContestant =>
  serviceContestant({
    name: 'fastify-app',
    launch,
    filled,
    cursorOf: rivalCursor,
    failedPartMax: RIVAL_FAILED_PART_MAX,
    cases: APP_CASES,
  })

const FLOOR_CASES: readonly CaseName[] = ['log-known', 'batch-100', 'batch-1000', 'page']

/** Handles only a few cases: see `floor.js`. */
export const floorContestant = (launch: Launch, filled: Filled): ServiceContestant =>
  serviceContestant({ name: 'floor', launch, filled, cursorOf: rivalCursor, cases: FLOOR_CASES })

/** Bare node:http. Answers with as many bytes as the measured service: `sizes` by case. */
export const bareContestant = (
  filled: Filled,
  sizes: ReadonlyMap<CaseName, number>,
  folder: string,
): ServiceContestant =>
  serviceContestant({
    name: 'bare node:http',
    launch: () =>
      startService({
        script: pathOf('bare.js'),
        env: {},
        logPath: join(folder, 'bare.log'),
        readyPath: '/healthz',
      }),
    filled,
    cursorOf: ourCursor,
    requestAs: (request, { name }: Case) => ({ ...request, path: `/${sizes.get(name)}` }),
  })
