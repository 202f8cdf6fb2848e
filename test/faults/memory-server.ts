import { createLog } from '../../src/adapters/log.ts'
import { compose, createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { newTenantIn } from '../support/program.ts'
import { fillStore } from './full-tenant.ts'

/** A service on the memory store with two tenants, whose keys it prints: no other program can add any. */
const config = readConfig({ ...process.env, DATABASE_URL: 'memory:', PORT: '0' })
const runtime = await createRuntime(config, createLog('info'))
const service = compose(config, runtime)
await service.start()
const seeds = [await newTenantIn(runtime), await newTenantIn(runtime)]
const survivorId = await fillStore(runtime, String(seeds[0]?.tenantId))
process.stderr.write(`${JSON.stringify({ seeds, survivorId })}\n`)
process.stderr.write(`${JSON.stringify({ port: await service.listen(), msg: 'listening' })}\n`)
process.once('SIGTERM', () => service.close().then(() => process.exit()))
