// Uses your own postgres.js instance, with the tables in a separate schema. An activity is logged exactly if your order is
// committed. PGHOST, PGDATABASE and PGUSER name the database.
import postgres from 'postgres'
import { createNewId, createTenant, DomainFailure, logProspectActivities } from 'prospect-pages'
import { migrate, postgresStore } from 'prospect-pages/postgres'

const sql = postgres({ connection: { search_path: 'prospects' } })
await sql`create schema prospects`
await sql`create schema shop`
await sql`create table shop.orders (order_id text primary key, paid boolean not null)`
await migrate(sql)

const deps = { clock: Date.now, newId: createNewId() }
const { tenantId } = await createTenant({ ...deps, store: postgresStore(sql) })({ name: 'Acme' })

const order = (orderId: string, paid: boolean) =>
  sql.begin(async (transaction) => {
    const log = logProspectActivities({ ...deps, store: postgresStore(transaction) })
    const payload = { rawJson: JSON.stringify({ orderId }) }
    const [outcome] = await log([
      { tenantId, source: 'shop', type: 'ordered', email: 'ada@example.com', payload },
    ])
    if (outcome instanceof DomainFailure) throw outcome
    await transaction`insert into shop.orders ${transaction({ order_id: orderId, paid })}`
    if (!paid) throw new Error('An order that is not paid is not kept.')
  })

await order('first', true)
await order('second', false).catch(() => {})
await order('third', true)

const logged = await sql`select payload ->> 'orderId' as order_id from prospect_logs order by prospect_log_id`
const kept = await sql`select order_id from shop.orders order by order_id`
await sql.end()
console.log(
  JSON.stringify({ logged: logged.map((row) => row['order_id']), kept: kept.map((row) => row['order_id']) }),
)
