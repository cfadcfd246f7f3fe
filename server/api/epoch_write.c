/* server/api/epoch_write.c: see epoch_write.h. */
#include "server/api/epoch_write.h"

void epoch_write_members(struct json_out *out, const struct epoch_record *epoch)
{
    json_out_i64(out, "seq", epoch->seq);
    json_out_number(out, "epoch", epoch->label);
    json_out_decimal(out, "tta_s", (struct opt_i64){true, epoch->official_ns}, 9);
    json_out_decimal(out, "wall_s", epoch->wall_ns, 9);
    json_out_number(out, "accuracy", epoch->value_text);
    json_out_optional(out, "correct", epoch->correct);
    json_out_optional(out, "total", epoch->total);
    if (epoch->has_loss)
        json_out_double(out, "loss", epoch->loss);
    json_out_optional(out, "views", epoch->views);
}
