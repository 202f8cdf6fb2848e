import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { addTenant, at, someGroup, somePage, someVersion } from '../support/rows.ts'
import { opened, overStores } from '../support/stores.ts'

overStores(
  async (t, kind) => {
    t.test(
      'the versions of a removed page are deleted in pieces, and with what has expired if not before',
      async (t) => {
        const { store, address, another } = await opened(t, kind)
        const group = someGroup(await addTenant(store))
        await store.pageGroups.add(group)
        const pages = [somePage(group), somePage(group)] as const
        for (const page of pages) await store.pages.record(page)
        const pointers = {
          publishedVersionId: null,
          automaticAfter: null,
          dropped: null,
          publishes: false,
          unpublishAt: null,
          schedule: null,
          updatedAt: at(0),
        }
        for (let revision = 1; revision < 40; revision++) {
          const added = someVersion({ versionNumber: revision + 1 })
          await store.pages.change({ ...pages[0], ...pointers, revision, added })
        }
        const database = openDatabase(String(address), 5_000)
        t.teardown(database.close)
        const count = (table: string) =>
          database.get<{ count: number }>(`select count(*) as count from ${table}`)?.count
        await store.pages.remove({ ...pages[0], revision: 40 })
        const left = [count('pages'), count('page_versions')]
        t.strictSame(await store.pages.find(pages[0]), 'page_not_found')
        t.strictSame(await store.versions.list({ ...pages[0], beforeId: null, limit: 1 }), [])
        t.strictSame(left, [2, 40 + 1 - 32])
        // As if the process had been killed.
        await store.close()
        const next = await another()
        const expired = { tenantId: group.tenantId, now: at(0), beforeLogId: null, max: 500 }
        t.equal(await next.erasures.expire(expired), true, 'there may be more')
        t.equal(await next.erasures.expire(expired), false)
        t.strictSame([count('pages'), count('page_versions')], [1, 1])
        await next.pages.remove({ ...pages[1], revision: 1 })
        t.strictSame([count('pages'), count('page_versions')], [0, 0])
      },
    )
  },
  ['sqlite'],
)
