-- For reports and other programs that read the database. Columns are named one by one: views never change with their tables,
-- and columns are added to them at the end only. They run with the rights of their owner, so a reader needs none on the tables.

-- Until the eraser has removed the logs of an erased prospect, they are hidden. Logs of a merged prospect name its survivor.
create view v_prospect_logs as
  select l.tenant_id, l.prospect_log_id, coalesce(p.merged_into, l.prospect_id) as prospect_id, l.source, l.type, l.email,
    l.external_id, l.name, l.idempotency_key, l.created_prospect, l.occurred_at, l.created_at, l.payload
  from prospect_logs l
    left join prospects p on p.tenant_id = l.tenant_id and p.prospect_id = l.prospect_id
  where p.erased_at is null;

create view v_prospects as
  select p.tenant_id, p.prospect_id, p.email, p.external_id, p.name, p.created_at, p.updated_at
  from prospects p
  where p.erased_at is null and p.merged_into is null;

-- A custom name of spaces counts as none.
create view v_pages as
  select p.tenant_id, p.page_group_id, g.name as page_group_name, g.title as page_group_title, g.status as page_group_status,
    p.page_id, case when trim(p.custom_name) <> '' then p.custom_name else p.computed_name end as effective_name,
    v.version_id as published_version_id, v.version_number as published_version_number, v.published_at,
    p.created_at, p.updated_at
  from pages p
    join page_groups g on g.tenant_id = p.tenant_id and g.page_group_id = p.page_group_id and g.status <> 'deleted'
    left join page_versions v
      on v.tenant_id = p.tenant_id and v.page_id = p.page_id and v.version_id = p.published_version_id;
