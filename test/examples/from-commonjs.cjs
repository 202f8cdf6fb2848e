// Loads the package with `require`, on Node 22.13 or newer.
const { createNewId, createTenant, memoryStore } = require('prospect-pages')
const { createApi } = require('prospect-pages/http')

const main = async () => {
  const store = memoryStore()
  await createTenant({ store, clock: Date.now, newId: createNewId() })({ name: 'Acme' })
  const api = createApi({ store })
  const answer = await api({ method: 'GET', target: '/readyz', headers: {} })
  console.log(answer.body)
}
main()
