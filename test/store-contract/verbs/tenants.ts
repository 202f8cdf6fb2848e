import { addTenant } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

export const tenants = {
  add: {
    serves: 'commands',
    ask: (ports) => addTenant(ports),
    noTenant: 'it creates one',
  },
  update: {
    serves: 'commands',
    ask: ({ tenants }, { tenantId }) => tenants.update(tenantId, { name: 'Theirs', retentionDays: 3 }),
    noTenant: 'it is the tenant that it names',
  },
  find: {
    serves: 'callers',
    ask: async ({ tenants }, { tenantId }, { tenant }) =>
      (await tenants.find(tenantId))?.tenantId === tenant.tenantId,
    toStrangers: false,
  },
  list: {
    serves: 'publisher',
    ask: ({ tenants }) => tenants.list('', 100),
    noTenant: 'the eraser goes from tenant to tenant, and an operator looks for the id of one',
  },
  brands: {
    serves: 'callers',
    ask: async ({ tenants }, { tenantId }, { tenant: { brandId } }) =>
      (await tenants.brands(tenantId))?.includes(brandId),
    toStrangers: false,
  },
  setState: {
    serves: 'commands',
    ask: ({ tenants }, { tenantId }) => tenants.setState(tenantId, { suspendedAt: null, deletedAt: null }),
    noTenant: 'it is the tenant that it names',
  },
  deleting: {
    serves: 'publisher',
    ask: ({ tenants }) => tenants.deleting(),
    noTenant: 'the eraser removes all of them',
  },
  left: {
    serves: 'publisher',
    ask: async ({ tenants }, { tenantId }) => (await tenants.left(tenantId)).includes('prospects'),
    toStrangers: false,
  },
  removeSome: {
    serves: 'publisher',
    ask: async ({ tenants }, { tenantId }) => {
      await tenants.removeSome({ tenantId, after: null, max: 1 })
    },
    toStrangers: undefined,
  },
  remove: {
    serves: 'publisher',
    ask: ({ tenants }, { tenantId }) => tenants.remove(tenantId),
    noTenant: 'it is the tenant that it names, and must be deleted and empty',
  },
} satisfies PortVerbs<'tenants'>
