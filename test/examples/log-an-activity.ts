// Calls a use case directly, over a store in memory.
import { createNewId, createTenant, DomainFailure, logProspectActivities, memoryStore } from 'prospect-pages'

const deps = { store: memoryStore(), clock: Date.now, newId: createNewId() }
const { tenantId } = await createTenant(deps)({ name: 'Acme' })

const payload = { rawJson: '{"form":"contact"}' }
const activity = { tenantId, source: 'crm', type: 'form_submitted', email: 'ada@example.com', payload }
const [outcome] = await logProspectActivities(deps)([activity])

if (outcome instanceof DomainFailure) throw outcome
console.log(JSON.stringify(outcome?.receipt))
