import { rolesFile } from '../stores/sql-files.ts'
import type { Ask } from './sql.ts'

type Grant = { readonly table: string; readonly privilege: string; readonly column: string | null }
/** Each privilege that `sql/roles.sql` grants for serving, by table and column. Its part II is for commands. */
const neededGrants = (): readonly Grant[] => {
  const forServing = rolesFile().replace(/^-- II\..*^(?=-- III\.)/ms, '')
  const grants: Grant[] = []
  for (const [, privileges = '', tables = ''] of forServing.matchAll(/grant ([^;']+?) on ([\w, ]+) to /g)) {
    // A privilege may be followed by the columns that it is granted for.
    for (const [, privilege = '', columns] of privileges.matchAll(/(\w+)(?: \(([^)]*)\))?/g)) {
      for (const table of tables.split(', ')) {
        for (const column of columns?.split(/,\s+/) ?? [null]) grants.push({ table, privilege, column })
      }
    }
  }
  return grants
}

/**
 * The privileges that serving needs and a role lacks, in words, except on tables and columns that do not exist yet. By
 * default the role is that of the connection.
 */
export const findMissingPrivileges = async (ask: Ask, role: string | null = null): Promise<string | null> => {
  const grants = JSON.stringify(neededGrants())
  const [found] = await ask(
    (sql) => sql<[{ missing: string | null }]>`
      select string_agg(distinct privilege || ' on ' || "table", ', ') as missing
      from json_to_recordset(${grants}::text::json) as needed ("table" text, privilege text, "column" text)
      left join pg_attribute on attrelid = to_regclass("table") and attname = "column"
      cross join coalesce(${role}::name, current_user) as role
      where not case
        when "column" is null then has_table_privilege(role, to_regclass("table"), privilege)
        else has_column_privilege(role, attrelid, attnum, privilege)
      end`,
  )
  return found.missing
}
