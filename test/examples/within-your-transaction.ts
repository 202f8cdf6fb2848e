// PostgreSQL by an instance of your own: tables in a schema of their own, and an activity that is logged exactly when
// your order is kept. Where the database is, PGHOST, PGDATABASE and PGUSER tell.
import postgres from 'postgres'
import { createNewId, createTenant, DomainFailure, logProspectActivities } from 'prospect-pages'
import { migrate, postgresStore } from 'prospect-pages/postgres'

const sql = postgres({ connection: { search_path: 'prospects' } })
await sql`create schema prospects`
await sql`create schema shop`
await sql`create table shop.orders (order_id text primary key, paid boolean not null)`
await migrate(sql)

const told = { clock: Date.now, newId: createNewId() }
const { tenantId } = await createTenant({ ...told, store: postgresStore(sql) })({ name: 'Acme' })

const order = (orderId: string, paid: boolean) =>
  sql.begin(async (transaction) => {
    const log = logProspectActivities({ ...told, store: postgresStore(transaction) })
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
