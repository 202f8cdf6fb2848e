import { createTenant } from '../core/tenants/create-tenant.ts'
import { deleteTenant } from '../core/tenants/delete-tenant.ts'
import { listTenants } from '../core/tenants/list-tenants.ts'
import { resumeTenant } from '../core/tenants/resume-tenant.ts'
import { suspendTenant } from '../core/tenants/suspend-tenant.ts'
import { updatePlaceholders } from '../core/tenants/update-placeholders.ts'
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
    help: 'renames a tenant (its brands keep their names), sets how long its activities are kept, or whom emails identify',
    details: [
      'An email or a domain that identifies nobody counts as a placeholder in this tenant, for example the address that your shop',
      'puts into orders without one. People whom it led to stay as they are, and are printed as `joined`. At most 1,000 values.',
    ],
    operands: ['ID'],
    options: {
      name: valued('N', 'new name of the tenant', { isName: true }),
      'retention-days': valued('N', 'days that its activities are kept; 0: forever; default: RETENTION_DAYS'),
      'identifies-nobody': valued('VALUE', 'an email, or @domain for all of a domain; repeat for several', {
        multiple: true,
      }),
      remove: { type: 'boolean', help: 'let the values of --identifies-nobody identify people again' },
    },
    examples: {
      'another name': 'prospect-pages tenants update "$TENANT" --name "Acme Ltd"',
      'activities kept for a year': 'prospect-pages tenants update "$TENANT" --retention-days 365',
      'addresses of the shop that stand for no customer':
        'prospect-pages tenants update "$TENANT" --identifies-nobody noreply@shop.example --identifies-nobody @pos.shop.example',
    },
    run: async ({ values, texts: { name, 'retention-days': days }, operands: [tenantId = ''] }, open) => {
      const nobody = ((values['identifies-nobody'] ?? []) as string[]).map(String)
      const isRemoved = values['remove'] === true
      if (name === undefined && days === undefined && nobody.length === 0)
        wrongUse('--name, --retention-days or --identifies-nobody is required')
      if (isRemoved && nobody.length === 0) wrongUse('--remove needs --identifies-nobody')
      if (name === '') wrongUse('--name must not be empty')
      if (days !== undefined && days !== 'default' && !(/^\d{1,5}$/.test(days) && Number(days) <= DAYS_MAX))
        wrongUse(`--retention-days must be a whole number from 0 to ${DAYS_MAX}, or default`)
      const retentionDays = days === 'default' ? null : Number(days)
      const changes = { ...(name && { name }), ...(days !== undefined && { retentionDays }) }
      const deps = await open()
      // Refuses wrong values before anything is changed.
      const listed =
        nobody.length > 0 ? await updatePlaceholders(deps)(tenantId, { values: nobody, isRemoved }) : {}
      return { ...listed, ...(await updateTenant(deps)(tenantId, changes)) }
    },
  },
  {
    words: 'tenants suspend',
    help: 'refuses the keys and hooks of a tenant, and stops its publishing and sending',
    details: [
      'Takes effect within a second, in every process. Pending work continues with `tenants resume`.',
    ],
    operands: ['ID'],
    examples: { 'a tenant that floods the service': 'prospect-pages tenants suspend "$TENANT"' },
    run: async ({ operands: [tenantId = ''] }, open) => suspendTenant(await open())(tenantId),
  },
  {
    words: 'tenants resume',
    help: 'ends a suspension',
    operands: ['ID'],
    examples: { 'a tenant that may go on': 'prospect-pages tenants resume "$TENANT"' },
    run: async ({ operands: [tenantId = ''] }, open) => resumeTenant(await open())(tenantId),
  },
  {
    words: 'tenants delete',
    help: 'suspends a tenant for good, and deletes all its data in the background',
    details: [
      'A running server does that, once the writes that had begun have ended. `tenants list` shows what is left.',
      'Backups keep it.',
    ],
    operands: ['ID'],
    options: { yes: { type: 'boolean', help: 'confirm: this cannot be undone' } },
    examples: { 'a customer who left': 'prospect-pages tenants delete "$TENANT" --yes' },
    run: async ({ operands: [tenantId = ''], values }, open) => {
      if (!values['yes'])
        wrongUse('this removes the tenant with its people, activities, pages, keys and hooks; add --yes')
      return deleteTenant(await open())(tenantId)
    },
  },
]
