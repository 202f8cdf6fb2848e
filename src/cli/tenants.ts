import { createTenant } from '../core/tenants/create-tenant.ts'
import { listTenants } from '../core/tenants/list-tenants.ts'
import { updateTenant } from '../core/tenants/update-tenant.ts'
import { type Command, valued, wrongUse } from './command.ts'

const DAYS_MAX = 36_500

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
    help: 'renames a tenant, while its brands keep their names, or sets how long its activities are kept',
    operands: ['ID'],
    options: {
      name: valued('N', 'new name of the tenant', { isName: true }),
      'retention-days': valued(
        'N',
        'days that its activities are kept; 0: for ever; default: RETENTION_DAYS',
      ),
    },
    examples: {
      'another name': 'prospect-pages tenants update "$TENANT" --name "Acme Ltd"',
      'activities kept for a year': 'prospect-pages tenants update "$TENANT" --retention-days 365',
    },
    run: async ({ texts: { name, 'retention-days': days }, operands: [tenantId = ''] }, open) => {
      if (name === undefined && days === undefined) wrongUse('--name or --retention-days is required')
      if (name === '') wrongUse('--name must not be empty')
      if (days !== undefined && days !== 'default' && !(/^\d{1,5}$/.test(days) && Number(days) <= DAYS_MAX))
        wrongUse(`--retention-days must be a whole number from 0 to ${DAYS_MAX}, or default`)
      const retentionDays = days === 'default' ? null : Number(days)
      const changes = { ...(name && { name }), ...(days !== undefined && { retentionDays }) }
      return updateTenant(await open())(tenantId, changes)
    },
  },
]
