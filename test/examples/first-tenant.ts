// Creates a tenant, a key and a page group to try an example with. Prints them and the address as one line of JSON.
import type { Server } from 'node:http'
import { createNewId, createPageGroup, createTenant, issueApiKey, type Store } from 'prospect-pages'

export const serving = async (server: Server, store: Store): Promise<void> => {
  const deps = { store, clock: Date.now, newId: createNewId() }
  const { tenantId } = await createTenant(deps)({ name: 'Acme' })
  const { pageGroupId } = await createPageGroup(deps)({ tenantId, name: 'offers', title: 'Offers' })
  const { apiKey } = await issueApiKey(deps)({ tenantId, name: null, scopes: [], lifeMs: null })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}/prospects`, apiKey, pageGroupId }))
}
