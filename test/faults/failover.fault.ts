import t from 'tap'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { startPostgres, whyNoStandby } from '../support/postgres.ts'
import { until } from '../support/program.ts'
import { openScene, underHarm } from './postgres-scene.ts'

const at = (folder: string) => `postgres://postgres@/postgres?host=${folder}`

t.setTimeout(0)
t.test(
  'the primary is killed and its standby promoted: acknowledged writes are there',
  { skip: whyNoStandby() ?? false },
  async (t) => {
    const primary = await startPostgres()
    t.teardown(primary.stop)
    const standby = await startPostgres({ standbyOf: primary.folder })
    t.teardown(standby.stop)
    const run = async (folder: string, ...texts: string[]) => {
      const sql = openPostgres(at(folder), { max: 1, prepare: false })
      for (const text of texts) await sql.unsafe(text)
      const rows = await sql<{ state: string }[]>`select sync_state as state from pg_stat_replication`
      await sql.end()
      return rows
    }
    // A commit waits for the standby, so that none is acknowledged that it lacks.
    await run(primary.folder, "alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()')
    await until(
      'the standby takes part in commits',
      async () => (await run(primary.folder))[0]?.state === 'sync',
    )
    const both = [primary, standby].map(({ folder }) => encodeURIComponent(folder)).join()
    const addressOf = (url: string) =>
      url.replace(/@.*\/(\w+)\?.*/, `@${both}/$1?target_session_attrs=read-write`)
    const scene = await openScene(t, primary, { addressOf })
    await underHarm(t, 'failover', scene, async () => {
      await primary.kill()
      await run(standby.folder, 'select pg_promote()')
      return performance.now()
    })
  },
)
