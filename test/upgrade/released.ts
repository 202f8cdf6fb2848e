import { readdirSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { checksumOf, readMigrations } from '../../src/adapters/stores/migrations.ts'

/** What `make.ts` saved of each release: databases, and what its API returned on them. None before the first release. */
const FOLDER = new URL('./released/', import.meta.url)

type Made = 'sqlite.db.gz' | 'postgres.sql.gz' | 'answers.json.gz'
export const releasedFile = (version: string, made: Made) => new URL(`${version}.${made}`, FOLDER)
export const readReleased = (version: string, made: Made): Buffer =>
  gunzipSync(readFileSync(releasedFile(version, made)))

export const releases = (): readonly string[] =>
  readdirSync(FOLDER).flatMap((name) => /^(.+)\.answers\.json\.gz$/.exec(name)?.[1] ?? [])

/** By released migration, such as `sqlite/0001_init.sql`: the first release that contains it, and the checksum of its text. */
export type Frozen = Readonly<Record<string, { readonly release: string; readonly checksum: string }>>
export const FROZEN = new URL('migrations.json', FOLDER)
export const readFrozen = (): Frozen => JSON.parse(readFileSync(FROZEN, 'utf8'))

/** The checksum of each migration as it is now. */
export const checksumsNow = (): ReadonlyMap<string, string> =>
  new Map(
    (['postgres', 'sqlite'] as const).flatMap((kind) =>
      readMigrations(kind).map(({ name, sql }) => [`${kind}/${name}`, checksumOf(sql)] as const),
    ),
  )
