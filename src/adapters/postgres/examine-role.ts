import type { Check } from '../check.ts'
import type { Grant } from '../read-grants.ts'
import { textArray } from './arrays.ts'
import type { Sql } from './connect.ts'

/** Whether the role that connects may do what serving needs, of `sql/roles.sql`. */
export const examineRole = async (sql: Sql, grants: readonly Grant[]): Promise<Check> => {
  const rows = await sql<{ role: string; isSuper: boolean; lacks: string | null }[]>`
    select current_user as role, current_setting('is_superuser') = 'on' as is_super,
      (select string_agg(privilege || coalesce(' (' || "column" || ')', '') || ' on ' || "table", ', ')
       from unnest(${textArray(grants.map(({ privilege }) => privilege))}::text[],
         ${textArray(grants.map(({ table }) => table))}::text[],
         ${textArray(grants.map(({ column }) => column))}::text[]) as needed (privilege, "table", "column")
       where to_regclass("table") is not null and not case when "column" is null then has_table_privilege("table", privilege)
         else has_column_privilege("table", "column", privilege) end) as lacks`
  const [{ role, isSuper, lacks } = { role: '', isSuper: false, lacks: null }] = rows
  if (lacks !== null)
    return {
      name: 'role',
      ok: false,
      detail: `${role} lacks ${lacks}`,
      remedy: 'run sql/roles.sql as the owner of the tables; SECURITY.md tells how',
    }
  const more = isSuper ? ', and is a superuser: SECURITY.md tells of a role that may do no more' : ''
  return { name: 'role', ok: true, detail: `${role} may do what serving needs${more}` }
}
