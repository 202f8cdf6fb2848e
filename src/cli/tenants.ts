import { createTenant } from '../core/create-tenant.ts'
import { listTenants } from '../core/list-tenants.ts'
import { updateTenant } from '../core/update-tenant.ts'
import { type Command, valued } from './command.ts'

export const tenantCommands: readonly Command[] = [
  {
    words: 'tenants create',
    help: 'creates a tenant and its first brand',
    options: { name: valued('N', 'name of the tenant and of its brand', { required: true, isName: true }) },
    examples: {
      'a tenant': 'prospect-pages tenants create --name Acme',
      'a tenant, with its id kept for later commands': `TENANT=$(prospect-pages tenants create --name Acme | sed 's/.*"tenantId":"\\([^"]*\\)".*/\\1/')`,
    },
    run: async ({ texts: { name = '' } }, open) => createTenant(await open())({ name }),
  },
  {
    words: 'tenants list',
    help: 'lists all tenants, oldest first',
    examples: { 'all tenants': 'prospect-pages tenants list' },
    format: { list: true },
    async *run(_input, open) {
      yield* listTenants(await open())()
    },
  },
  {
    words: 'tenants update',
    help: 'renames a tenant; its brands keep their names',
    operands: ['ID'],
    options: { name: valued('N', 'new name of the tenant', { required: true, isName: true }) },
    examples: { 'another name': 'prospect-pages tenants update "$TENANT" --name "Acme Ltd"' },
    run: async ({ texts: { name = '' }, operands: [tenantId = ''] }, open) =>
      updateTenant(await open())(tenantId, { name }),
  },
]
