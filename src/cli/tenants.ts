import { createTenant } from '../core/create-tenant.ts'
import { type Command, requiredText } from './command.ts'

export const tenantCommands: readonly Command[] = [
  {
    words: 'tenants create',
    usage: '--name N',
    help: 'creates a tenant and its first brand',
    options: { name: { type: 'string' } },
    operands: [],
    prepare: (values) => {
      const name = requiredText(values, 'name')
      return (deps) => createTenant(deps)({ name })
    },
  },
]
