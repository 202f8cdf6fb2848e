import { erasureRoutes } from './erasure-routes.ts'
import { pageRoutes } from './page-routes.ts'
import { prospectLogRoutes } from './prospect-log-routes.ts'
import { prospectRoutes } from './prospect-routes.ts'
import type { Route } from './route.ts'

/** Every operation. */
export const ROUTES: readonly Route[] = [
  ...prospectLogRoutes,
  ...prospectRoutes,
  ...erasureRoutes,
  ...pageRoutes,
]
