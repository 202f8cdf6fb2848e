import { createTenant } from '../core/create-tenant.ts'
import { type Command, requiredText } from './command.ts'

export const tenantCommands: readonly Command[] = [
  {
    words: 'tenants create',
    usage: '--name N',
    help: 'creates a tenant and its first brand',
    options: { name: { type: 'string', value: 'N', help: 'name of the tenant and of its brand; needed' } },
    examples: [
      { does: 'a tenant', line: 'prospect-pages tenants create --name Acme' },
      {
        does: 'a tenant, its id kept for the commands that follow',
        line: `TENANT=$(prospect-pages tenants create --name Acme | sed 's/.*"tenantId":"\\([^"]*\\)".*/\\1/')`,
      },
    ],
    operands: [],
    prepare: (values) => {
      const name = requiredText(values, 'name')
      return (deps) => createTenant(deps)({ name })
    },
  },
]
