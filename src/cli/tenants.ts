import { createTenant } from '../core/create-tenant.ts'
import { type Command, requiredName, valued } from './command.ts'

export const tenantCommands: readonly Command[] = [
  {
    words: 'tenants create',
    help: 'creates a tenant and its first brand',
    options: { name: valued('N', 'name of the tenant and of its brand', { required: true }) },
    examples: {
      'a tenant': 'prospect-pages tenants create --name Acme',
      'a tenant, with its id kept for later commands': `TENANT=$(prospect-pages tenants create --name Acme | sed 's/.*"tenantId":"\\([^"]*\\)".*/\\1/')`,
    },
    run: async ({ values }, open) => {
      const name = requiredName(values, 'name')
      return createTenant(await open())({ name })
    },
  },
]
