/** The schemas of the OpenAPI document: one for each named shape. */

import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { ApiKey } from '../../../shapes/api-key.ts'
import { Erasure, ErasureSlice, NewErasure } from '../../../shapes/erasure.ts'
import { Event, EventSlice } from '../../../shapes/event.ts'
import {
  Hook,
  HookChanges,
  HookRefusal,
  HookSlice,
  HookTrial,
  HookTrialResult,
  HookWarning,
  NewHook,
  TriedActivity,
} from '../../../shapes/hook.ts'
import {
  Challenge,
  Hmac,
  HookAnswer,
  HookMap,
  HookVerification,
  HookVerificationShown,
} from '../../../shapes/hook-rules.ts'
import {
  CreatedPage,
  CreatedVersion,
  LatestVersion,
  NewPage,
  NewVersion,
  Page,
  PageChanges,
  PageSlice,
  PageWithVersion,
  Publication,
  PublicationResult,
  PublishedPage,
  PublishedPageSlice,
  PublishedVersion,
  ScheduledVersion,
  Version,
  VersionSlice,
  VersionWithContent,
} from '../../../shapes/page.ts'
import { NewPageGroup, PageGroup, PageGroupChanges, PageGroupSlice } from '../../../shapes/page-group.ts'
import {
  AcceptedProspect,
  IdentifierConflict,
  MatchedProspect,
  NewProspect,
  Prospect,
  ProspectBatch,
  ProspectBatchResult,
  ProspectChanges,
  ProspectConflict,
  ProspectConflictSlice,
  ProspectMerge,
  ProspectSlice,
  ProspectWithIdentifiers,
} from '../../../shapes/prospect.ts'
import {
  ExportEnd,
  ExportedErasure,
  ExportedLog,
  ExportedMerged,
  ExportedProspect,
  MergedProspect,
  ProspectExportLine,
} from '../../../shapes/prospect-export.ts'
import {
  AcceptedItem,
  NewProspectLog,
  ProspectLog,
  ProspectLogBatch,
  ProspectLogBatchResult,
  ProspectLogReceipt,
  ProspectLogSlice,
  RefusedItem,
} from '../../../shapes/prospect-log.ts'
import { ProspectLogCount, ProspectLogCounts } from '../../../shapes/prospect-log-count.ts'
import type { Documented } from '../../../shapes/text.ts'
import {
  CreatedWebhookEndpoint,
  NewWebhookEndpoint,
  SecretRotation,
  WebhookEndpoint,
  WebhookEndpointChanges,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
  WebhookError,
  WebhookTest,
  WebhookTrial,
} from '../../../shapes/webhook.ts'
import {
  DeliverySlice,
  Replay,
  ReplayResult,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryWithAttempts,
} from '../../../shapes/webhook-delivery.ts'

export type Json = Record<string, unknown>

const jsonSchemaOf = (thing: object): Json | undefined => (thing as Partial<Documented>).jsonSchema

/** The named schemas of the document. */
const SHAPES = {
  NewProspectLog,
  ProspectLogReceipt,
  ProspectLog,
  ProspectLogSlice,
  ProspectLogCount,
  ProspectLogCounts,
  Prospect,
  ProspectWithIdentifiers,
  MatchedProspect,
  IdentifierConflict,
  ProspectConflict,
  ProspectConflictSlice,
  ProspectSlice,
  NewProspect,
  ProspectBatch,
  ProspectBatchResult,
  AcceptedProspect,
  ProspectChanges,
  ProspectExportLine,
  ExportedProspect,
  ExportedMerged,
  MergedProspect,
  ExportedLog,
  ExportedErasure,
  ExportEnd,
  ProspectMerge,
  ProspectLogBatch,
  ProspectLogBatchResult,
  AcceptedItem,
  RefusedItem,
  NewErasure,
  Erasure,
  ErasureSlice,
  NewPageGroup,
  PageGroup,
  PageGroupSlice,
  PageGroupChanges,
  NewPage,
  CreatedPage,
  Page,
  PageSlice,
  PageChanges,
  PageWithVersion,
  PublicationResult,
  ScheduledVersion,
  PublishedVersion,
  LatestVersion,
  NewVersion,
  Publication,
  PublishedPage,
  PublishedPageSlice,
  CreatedVersion,
  Version,
  VersionSlice,
  VersionWithContent,
  Event,
  EventSlice,
  NewWebhookEndpoint,
  WebhookEndpoint,
  CreatedWebhookEndpoint,
  WebhookEndpointWithSecret,
  WebhookEndpointList,
  WebhookEndpointChanges,
  SecretRotation,
  WebhookTrial,
  WebhookTest,
  WebhookDelivery,
  DeliverySlice,
  WebhookAttempt,
  WebhookError,
  WebhookDeliveryWithAttempts,
  Replay,
  ReplayResult,
  NewHook,
  HookVerification,
  HookVerificationShown,
  Challenge,
  HookAnswer,
  Hmac,
  HookMap,
  HookRefusal,
  TriedActivity,
  Hook,
  HookSlice,
  HookChanges,
  HookTrial,
  HookTrialResult,
  HookWarning,
  ApiKey,
}

const CONVERSION = {
  target: 'draft-2020-12',
  typeMode: 'input',
  errorMode: 'ignore',
  overrideSchema: ({ valibotSchema, jsonSchema }) => {
    const own = jsonSchemaOf(valibotSchema)
    if (own !== undefined) return { ...own, ...described(jsonSchema as Json) }
    // Any JSON is null too.
    const { anyOf, ...rest } = jsonSchema
    return anyOf?.some((schema) => Object.keys(schema).length === 0) ? rest : undefined
  },
  overrideAction: ({ valibotAction, jsonSchema }) => {
    const own = jsonSchemaOf(valibotAction)
    return own === undefined ? undefined : { ...jsonSchema, ...own }
  },
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
} satisfies ConversionConfig

/** OpenAPI 3.1 uses draft 2020-12 by default. */
const withoutDialect = ({ $schema, ...schema }: Json): Json => schema

export const namedSchemas = (): Json => {
  const schemas: Record<string, Json> = toJsonSchemaDefs(SHAPES as never, CONVERSION)
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutDialect(schema)]))
}

/** The schemas of the parameters of a query, by name. */
export const parametersOf = (query: v.GenericSchema): Record<string, Json> => {
  const { properties } = toJsonSchema(query as never, CONVERSION)
  return properties as Record<string, Json>
}

export const referenceTo = (schema: v.GenericSchema): Json => {
  const names = Object.keys(SHAPES) as (keyof typeof SHAPES)[]
  const name = names.find((name) => (SHAPES[name] as v.GenericSchema) === schema)
  const members = Object.keys((schema as Partial<v.ObjectSchema<v.ObjectEntries, undefined>>).entries ?? {})
  if (name === undefined) throw new Error(`SHAPES lacks a body or an answer with: ${members.join(', ')}.`)
  return { $ref: `#/components/schemas/${name}` }
}

const described = ({ description }: Json): Json => (description === undefined ? {} : { description })
