import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import { addTenant, at, changeOf, newId, someProspect } from './rows.ts'

const HOUR_MS = 3_600_000
const FAR = '~'

export const searchIndex = section(
  'search index',
  async ({ store }) => {
    const { searchIndex, activities } = store
    const addPeople = async (tenantId: string, count: number) => {
      const ids: string[] = []
      for (let i = 0; i < count; i++) {
        const prospect = someProspect(tenantId)
        await activities.record(changeOf(prospect))
        ids.push(prospect.prospectId)
      }
      return ids
    }
    const searchedTenant = async () => {
      const { tenantId } = await addTenant(store)
      await searchIndex.markSearched(tenantId, at(0))
      return tenantId
    }
    const waiting = async (tenantId: string, query: object = {}) => {
      const bounds = { searchedSince: at(0), beforeId: FAR, checkBeforeId: '', ...query }
      const tenantIds = await searchIndex.waiting({ afterTenantId: '', ...bounds, max: 1_000 })
      return tenantIds.includes(tenantId)
    }
    const extend = (tenantId: string, from: string, query: object = {}) =>
      searchIndex.extend({ tenantId, mark: 'position', from, beforeId: FAR, max: 100, ...query })
    return { searchIndex, addPeople, searchedTenant, waiting, extend }
  },
  {
    'a tenant is indexed once it is searched': async ({ searchIndex, addPeople, waiting, store }) => {
      const { tenantId } = await addTenant(store)
      await addPeople(tenantId, 1)
      equal(await searchIndex.find(tenantId), null)
      equal(await waiting(tenantId), false)
      await searchIndex.markSearched(tenantId, at(0))
      same(await searchIndex.find(tenantId), { position: '', checked: '', searchedAt: at(0) })
      equal(await waiting(tenantId), true)
      await searchIndex.markSearched(tenantId, at(HOUR_MS))
      same(await searchIndex.find(tenantId), { position: '', checked: '', searchedAt: at(HOUR_MS) })
      equal(await waiting(tenantId, { searchedSince: at(2 * HOUR_MS) }), false)
    },

    'each mark moves to the last person that it passed': async (scene) => {
      const { searchIndex, addPeople, searchedTenant, waiting, extend } = scene
      const tenantId = await searchedTenant()
      const [first = '', second = '', third = ''] = await addPeople(tenantId, 3)
      equal(await extend(tenantId, '', { max: 2 }), 2)
      equal((await searchIndex.find(tenantId))?.position, second)
      equal(await extend(tenantId, second, { beforeId: third }), 0)
      equal(await extend(tenantId, second), 1)
      equal(await extend(tenantId, third), 0)
      equal(await waiting(tenantId), false)
      equal(await waiting(tenantId, { checkBeforeId: second }), true)
      equal(await extend(tenantId, '', { mark: 'checked', beforeId: second }), 1)
      same(await searchIndex.find(tenantId), { position: third, checked: first, searchedAt: at(0) })
      equal(await waiting(tenantId, { checkBeforeId: second }), false)
    },

    'of two that extend an index from one place, one does': async ({ addPeople, searchedTenant, extend }) => {
      const tenantId = await searchedTenant()
      await addPeople(tenantId, 3)
      const passed = await Promise.all([extend(tenantId, ''), extend(tenantId, '')])
      same(passed.sort(), [0, 3])
    },

    'both marks are moved back, but not forwards': async ({
      searchIndex,
      addPeople,
      searchedTenant,
      extend,
    }) => {
      const tenantId = await searchedTenant()
      const [first = '', second = ''] = await addPeople(tenantId, 2)
      await extend(tenantId, '')
      await extend(tenantId, '', { mark: 'checked', max: 1 })
      await searchIndex.rewind(tenantId, newId('prospect'))
      same(await searchIndex.find(tenantId), { position: second, checked: first, searchedAt: at(0) })
      await searchIndex.rewind(tenantId, '')
      same(await searchIndex.find(tenantId), { position: '', checked: '', searchedAt: at(0) })
    },
  },
)
