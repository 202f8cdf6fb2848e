import { simulation } from '../store-contract/simulation.ts'
import { testContractOn } from '../support/contract.ts'

// Those that `npm test` makes short. The other stores have theirs with the contract, as long in this layer.
for (const name of ['sqlite', 'postgres'] as const) testContractOn(name, [simulation])
